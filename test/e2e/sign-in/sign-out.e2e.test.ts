import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  askTokens,
  codeOf,
  exchange,
  originOf,
  registerClient,
  signedInBrowser,
  type TestClient,
} from '../../support/clients/sign-in/applications.ts'
import { Browser, hiddenFields } from '../../support/clients/sign-in/browser.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let client: TestClient
const signedOut = 'https://app.example/signed-out?from=keyhold'

describeBackends('signing out from an application', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    client = await registerClient(stack, { postLogoutRedirectUris: [signedOut] })
  })
  afterAll(() => stack.close())

  const signIn = async (username: string, scope = 'openid') => {
    const browser = await signedInBrowser(stack, username)
    const { body } = await exchange(stack, client, await codeOf(browser, client, { scope }))
    return { browser, idToken: String(body.id_token), refreshToken: String(body.refresh_token) }
  }
  const path = (parameters: Record<string, string>) => `/oauth/logout?${new URLSearchParams(parameters)}`
  const isAlive = async (refresh_token: string) =>
    (await askTokens(stack, client, { grant_type: 'refresh_token', refresh_token })).status === 200

  it('ends the session at once with an ID token of its user, and leads back with the state', async () => {
    const { browser, idToken, refreshToken } = await signIn('alice')
    stack.clock.advanceSeconds(1_200)
    const asked = { id_token_hint: idToken, post_logout_redirect_uri: signedOut, state: 'a state' }
    const { url } = await browser.go(path(asked))
    expect(url).toBe(`${signedOut}&state=a+state`)
    expect(await isAlive(refreshToken)).toBe(false)
    expect((await browser.go('/account')).url).toContain('/account/sign-in')
  })

  it('asks the user without such a token, and for the token of somebody else', async () => {
    const [{ browser, refreshToken }, other] = [await signIn('bob'), await signIn('carol')]
    const asking = await browser.go(path({ client_id: client.id, post_logout_redirect_uri: signedOut }))
    expect(asking.reply.text).toContain('Sign out?')
    expect(await isAlive(refreshToken)).toBe(true)
    const foreign = await browser.go(path({ id_token_hint: other.idToken, post_logout_redirect_uri: signedOut }))
    expect(foreign.reply.text).toContain('Sign out?')
    expect(foreign.reply.headers.get('content-security-policy')).toContain('https://app.example')
    const { url } = await browser.go('/oauth/logout/decision', hiddenFields(foreign.reply.text))
    expect(url).toBe(signedOut)
    expect((await browser.go('/account')).url).toContain('/account/sign-in')
  })

  it('leads nowhere that is not registered, whatever else is right', async () => {
    const { browser, idToken, refreshToken } = await signIn('bob')
    const wrong: Record<string, string>[] = [
      { id_token_hint: idToken, post_logout_redirect_uri: 'https://evil.example/' },
      { id_token_hint: idToken, post_logout_redirect_uri: `${signedOut}x` },
      { post_logout_redirect_uri: signedOut },
      { client_id: client.id, id_token_hint: 'no.token.here' },
      { client_id: (await registerClient(stack)).id, id_token_hint: idToken },
      { request: 'not sealed' },
    ]
    for (const parameters of wrong) {
      const { reply, url } = await browser.go(path(parameters))
      expect({ url: new URL(url).pathname, status: reply.status }).toEqual({ url: '/oauth/logout', status: 400 })
    }
    const twice = await browser.go(`${path({ client_id: client.id })}&client_id=${client.id}`)
    expect(twice.reply.status).toBe(400)
    expect(await isAlive(refreshToken)).toBe(true)
  })

  it('by a form of the application does the same, and nobody signed in goes on', async () => {
    const { browser, idToken } = await signIn('bob')
    const { url } = await browser.go('/oauth/logout', { id_token_hint: idToken, post_logout_redirect_uri: signedOut })
    expect(url).toBe(signedOut)
    const stranger = new Browser(await originOf(stack))
    const asked = { client_id: client.id, post_logout_redirect_uri: signedOut }
    expect((await stranger.go(path(asked))).url).toBe(signedOut)
    expect((await stranger.go('/oauth/logout')).url).toContain('/console/signed-out')
  })
})
