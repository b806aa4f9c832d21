import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  Client,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { expectAccessible } from '../../support/clients/pages/accessibility.ts'
import { describeInBrowser } from '../../support/clients/pages/browser.ts'
import {
  answerOf,
  askTokens,
  exchange,
  newVerifier,
  registerClient,
  requestOf,
  type TestClient,
} from '../../support/clients/sign-in/applications.ts'
import { sendMessage } from '../../support/clients/tool-calls.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

describeInBrowser('signing in to an application of another party', () => {
  let world: Awaited<ReturnType<typeof openConsoleInBrowser>>
  let origin: string
  let client: TestClient
  /** The application: it answers whatever comes. */
  const application = createServer((_request, response) => {
    const headers = { 'content-type': 'text/html', 'content-security-policy': "default-src 'none'" }
    response
      .writeHead(200, headers)
      .end('<!doctype html><title>App</title><link rel="icon" href="data:,">The application')
  })
  let app: string

  beforeAll(async () => {
    const port = String(await freePort())
    origin = `http://localhost:${port}`
    world = await openConsoleInBrowser({ environment: { AUTH_PORT: port, AUTH_PUBLIC_ORIGIN: origin } })
    await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve))
    app = `http://127.0.0.1:${(application.address() as AddressInfo).port}`
    client = await registerClient(world.stack, {
      name: 'Ledger & Sons',
      firstParty: false,
      rights: ['deal.read', 'deal.hold'],
      redirectUris: [`${app}/callback`],
      postLogoutRedirectUris: [`${app}/bye`],
    })
  })
  afterAll(async () => {
    application.close()
    await world?.close()
  })

  async function ask(page: Page, scope: string) {
    const { verifier, challenge } = newVerifier()
    await page.goto(`${origin}/oauth/authorize?${requestOf(client, { code_challenge: challenge, scope })}`)
    return verifier
  }
  /** The URL of the application that the work leads the browser to. */
  async function arrivalAfter(page: Page, work: () => Promise<unknown>): Promise<string> {
    await work()
    await page.getByText('The application').waitFor()
    return page.url()
  }
  const press = (page: Page, name: string) => page.locator('main').getByRole('button', { name, exact: true }).click()

  it('is refused, allowed, seen and taken back, with no finding of axe and no complaint', async () => {
    const { page, complaints } = await world.browser.newPage()
    await ask(page, 'openid profile deal.read')
    await expectAccessible(page, 'sign-in-to-application')
    await signInOnPage(page, 'alice')
    await page.getByRole('heading', { name: 'Let Ledger & Sons use your account?' }).waitFor()
    await expectAccessible(page, 'consent')
    const refused = await arrivalAfter(page, () => press(page, 'Refuse'))
    expect(answerOf({ url: refused })).toMatchObject({ error: 'access_denied' })
    const verifier = await ask(page, 'openid profile deal.read')
    const { code = '' } = answerOf({ url: await arrivalAfter(page, () => press(page, 'Allow')) })
    const { body } = await exchange(world.stack, client, { code, verifier })
    expect(body.scope).toBe('openid profile deal.read')
    await page.goto(`${origin}/account/applications`)
    await page.getByText('Ledger & Sons').first().waitFor()
    await expectAccessible(page, 'applications')
    await page.getByRole('button', { name: 'Take back what Ledger & Sons may do' }).click()
    await page.getByText('The application can do nothing any more.').waitFor()
    const refresh = { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) }
    expect((await askTokens(world.stack, client, refresh)).status).toBe(400)
    const asked = { client_id: client.id, post_logout_redirect_uri: `${app}/bye` }
    await page.goto(`${origin}/oauth/logout?${new URLSearchParams(asked)}`)
    await page.getByRole('heading', { name: 'Sign out?' }).waitFor()
    await expectAccessible(page, 'sign-out')
    expect(await arrivalAfter(page, () => press(page, 'Sign out'))).toBe(`${app}/bye`)
    expect(complaints.filter((line) => !line.includes('favicon') && !line.includes(app))).toEqual([])
  })

  it('works without a script, and with a passkey as second factor', async () => {
    const { page: bare } = await world.browser.newPage({ javaScriptEnabled: false })
    await ask(bare, 'openid deal.read')
    await signInOnPage(bare, 'bob')
    expect(await arrivalAfter(bare, () => press(bare, 'Allow'))).toContain(`${app}/callback?code=`)

    const { page } = await world.browser.newPage()
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: { protocol: 'ctap2', transport: 'internal', hasUserVerification: true, isUserVerified: true },
    })
    await page.goto(`${origin}/account/security`)
    await signInOnPage(page, 'carol')
    await page.getByRole('button', { name: 'Set up a passkey' }).click()
    await page.getByLabel('Name').fill('Key')
    await page.getByRole('button', { name: 'Make the passkey now' }).click()
    await page.getByText('The second factor is set up.').waitFor()
    await page.context().clearCookies()
    await ask(page, 'openid')
    await signInOnPage(page, 'carol')
    await press(page, 'Use a passkey')
    expect(await arrivalAfter(page, () => press(page, 'Allow'))).toContain(`${app}/callback?code=`)
  })

  it('lets an assistant hold a deal, from its discovery until its user takes it back', async () => {
    const { page } = await world.browser.newPage()
    const { body } = await world.stack.deal.send('/.well-known/oauth-protected-resource')
    const seen = String(body.resource)
    const reach: typeof fetch = (url, init) => fetch(String(url).replace(seen, world.stack.deal.url), init)
    const kept: { tokens?: OAuthTokens; verifier?: string; back?: string } = {}
    const authProvider: OAuthClientProvider = {
      redirectUrl: client.redirectUri,
      clientMetadata: { redirect_uris: [client.redirectUri] },
      clientInformation: () => ({ client_id: client.id }),
      tokens: () => kept.tokens,
      saveTokens: (tokens) => {
        for (const secret of [tokens.access_token, tokens.refresh_token ?? '']) rememberSecret(secret)
        kept.tokens = tokens
      },
      codeVerifier: () => kept.verifier ?? '',
      saveCodeVerifier: (verifier) => {
        kept.verifier = verifier
      },
      redirectToAuthorization: async (url) => {
        await page.goto(url.href)
        await signInOnPage(page, 'alice')
        await page.getByText('Hold deals').waitFor()
        kept.back = await arrivalAfter(page, () => press(page, 'Allow'))
      },
    }
    const open = () => new StreamableHTTPClientTransport(new URL(`${seen}/mcp`), { authProvider, fetch: reach })
    const first = open()
    await expect(new Client({ name: 'clerk', version: '1' }).connect(first)).rejects.toThrow(UnauthorizedError)
    await first.finishAuth(new URL(kept.back ?? '').searchParams)
    const clerk = new Client({ name: 'clerk', version: '1' })
    await clerk.connect(open())
    const { access } = await world.stack.logIn('alice')
    const made = await world.stack.deal.send('/rest/v1/deals', { token: access, json: { name: 'deal', price: 1 } })
    const hold = { name: 'hold_deal', arguments: { id: made.body.id, reason: 'asked to' } }
    expect((await clerk.callTool(hold)).structuredContent).toMatchObject({ changed: true, deal: { held: true } })
    await page.goto(`${origin}/account/applications`)
    await page.getByRole('button', { name: 'Take back what Ledger & Sons may do' }).click()
    await page.getByText('The application can do nothing any more.').waitFor()
    const list = () => sendMessage(world.stack.deal, kept.tokens?.access_token ?? '', 'tools/list')
    await withinASecond(list, { from: 200, to: 401 })
  })
})
