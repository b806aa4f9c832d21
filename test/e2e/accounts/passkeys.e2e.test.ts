import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import {
  describeInBrowser,
  type ObservedPage,
  openBrowser,
  type TestBrowser,
} from '../../support/clients/pages/browser.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

/** What a page calls to make a passkey and to use it, with the options of the server as JSON. */
const create = `async (publicKey) => {
  const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey)
  return (await navigator.credentials.create({ publicKey: options })).toJSON()
}`
const get = `async (publicKey) => {
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey)
  return (await navigator.credentials.get({ publicKey: options })).toJSON()
}`

describeInBrowser('passkeys', () => {
  let stack: Stack
  let browser: TestBrowser
  let observed: ObservedPage

  beforeAll(async () => {
    const port = String(await freePort())
    const origin = `http://localhost:${port}`
    stack = await openStack(openEmbedded, { environment: { AUTH_PORT: port, AUTH_PUBLIC_ORIGIN: origin } })
    browser = await openBrowser()
    observed = await browser.newPage()
    await observed.page.goto(`${origin}/`)
    const devtools = await observed.page.context().newCDPSession(observed.page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: { protocol: 'ctap2', transport: 'internal', hasUserVerification: true, isUserVerified: true },
    })
  })
  afterAll(async () => {
    await browser?.close()
    await stack?.close()
  })

  const inPage = (script: string, publicKey: unknown): Promise<{ id: string }> =>
    observed.page.evaluate(`(${script})(${JSON.stringify(publicKey)})`)
  const post = (path: string, json: object, token?: string) =>
    stack.auth.send(path, { json, ...(token === undefined ? {} : { token }) })
  const password = (username: string) => ({ username, password: passwordOf(username) })

  async function register(username: string) {
    const { access: token } = await stack.logIn(username)
    const { publicKey, challenge } = (await post('/me/second-factors/passkeys/options', {}, token)).body
    const passkey = await inPage(create, publicKey)
    const answer = { challenge, passkey, name: 'This computer' }
    return { token, answer, added: await post('/me/second-factors/passkeys', answer, token) }
  }

  it('are set up by a browser and let its user in, each answer once', async () => {
    const { added, token, answer } = await register('alice')
    expect(added.status, added.text).toBe(201)
    expect(added.body).toMatchObject({ required: true, factors: [{ kind: 'passkey', name: 'This computer' }] })
    expectProblem(await post('/me/second-factors/passkeys', answer, token), 403, 'second-factor-not-confirmed')
    const asked = await post('/login', password('alice'))
    expectProblem(asked, 401, 'second-factor-required')
    const { challenge, publicKey, methods } = asked.body
    expect(methods).toEqual(['passkey'])
    const passkey = await inPage(get, publicKey)
    const pair = await post('/login', { challenge, passkey })
    expect(pair.status, pair.text).toBe(200)
    const mine = await stack.auth.send('/me', { token: String(pair.body.access_token) })
    expect(mine.body.amr).toEqual(['pwd', expect.stringMatching(/^[hs]wk$/), 'mfa'])
    expectProblem(await post('/login', { challenge, passkey }), 401, 'invalid-second-factor')
  })

  it('of another user, of another challenge or changed on the way let nobody in', async () => {
    const { added } = await register('bob')
    expect(added.status, added.text).toBe(201)
    const ask = async (username: string) => (await post('/login', password(username))).body
    const [alice, bob] = [await ask('alice'), await ask('bob')]
    const ofBob = await inPage(get, bob.publicKey)
    for (const answer of [
      { challenge: alice.challenge, passkey: ofBob },
      { challenge: (await ask('bob')).challenge, passkey: ofBob },
      { challenge: bob.challenge, passkey: { ...ofBob, id: 'AAAA', rawId: 'AAAA' } },
    ]) {
      expectProblem(await post('/login', answer), 401, 'invalid-second-factor')
    }
    const signed = ofBob as unknown as { response: { signature: string } }
    const response = { ...signed.response, signature: `${signed.response.signature.slice(0, -4)}AAAA` }
    const forged = { challenge: bob.challenge, passkey: { ...ofBob, response } }
    expectProblem(await post('/login', forged), 401, 'invalid-second-factor')
    expect((await post('/login', { challenge: bob.challenge, passkey: ofBob })).status).toBe(200)
  })
})
