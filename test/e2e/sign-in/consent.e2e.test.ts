import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import {
  answerOf,
  askTokens,
  codeOf,
  exchange,
  newVerifier,
  registerClient,
  requestOf,
  signedInBrowser,
  type TestClient,
} from '../../support/clients/sign-in/applications.ts'
import { type Arrival, type Browser, hiddenFields } from '../../support/clients/sign-in/browser.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let client: TestClient

describeBackends('consent', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    client = await registerClient(stack, {
      name: 'Ledger & Sons',
      kind: 'confidential',
      firstParty: false,
      rights: ['deal.read', 'deal.hold'],
    })
  })
  afterAll(() => stack.close())

  const dealsWith = async (token: unknown) => (await stack.deal.send('/rest/v1/deals', { token: String(token) })).status

  const askFor = async (browser: Browser, more: Record<string, string | null> = {}) => {
    const { verifier, challenge } = newVerifier()
    const page = await browser.go(`/oauth/authorize?${requestOf(client, { code_challenge: challenge, ...more })}`)
    return { verifier, page }
  }
  const decide = (browser: Browser, { reply }: Arrival, decision: 'allow' | 'refuse') =>
    browser.go('/oauth/authorize/decision', { ...hiddenFields(reply.text), decision })

  it('is asked for by a client of another party, once, and gives tokens that may do nothing else', async () => {
    const browser = await signedInBrowser(stack, 'alice')
    const { page, verifier } = await askFor(browser, { scope: 'openid deal.read' })
    expect(page.url).toContain('/account/authorize?')
    expect(page.reply.text).toContain('Ledger &amp; Sons')
    expect(page.reply.text).toContain('Read deals')
    expect(page.reply.text).not.toContain('Hold deals')
    expect(page.reply.text).not.toContain('until somebody approves them')
    const policy = page.reply.headers.get('content-security-policy')
    expect(policy).toContain("frame-ancestors 'none'")
    const { code = '' } = answerOf(await decide(browser, page, 'allow'))
    const { body } = await exchange(stack, client, { code, verifier })
    expect(body.scope).toBe('openid deal.read')
    expect(decodeJwt(String(body.access_token)).scope).toBe('deal.read')
    expect(await dealsWith(body.access_token)).toBe(200)
    const narrowed = await stack.auth.send('/sessions', { token: String(body.access_token) })
    expectProblem(narrowed, 403, 'narrowed-credential')
    // A second time nobody is asked; more than before is asked again.
    expect(answerOf((await askFor(browser, { scope: 'openid deal.read' })).page).code).toBeDefined()
    expect((await askFor(browser, { scope: 'openid deal.hold' })).page.url).toContain('/account/authorize?')
    const silent = await askFor(browser, { scope: 'openid deal.hold', prompt: 'none' })
    expect(answerOf(silent.page)).toMatchObject({ error: 'consent_required', state: 'the state' })
    const asked = await askFor(browser, { scope: 'openid deal.read', prompt: 'consent' })
    expect(asked.page.url).toContain('/account/authorize?')
  })

  it('says of an application that proposes that its commands wait', async () => {
    const proposing = await registerClient(stack, { firstParty: false, rights: ['deal.hold'], mode: 'propose' })
    const { challenge } = newVerifier()
    const asked = requestOf(proposing, { code_challenge: challenge, scope: 'openid deal.hold' })
    const { reply } = await (await signedInBrowser(stack, 'alice')).go(`/oauth/authorize?${asked}`)
    expect(reply.text).toContain('Its commands wait until somebody approves them.')
  })

  it('that is refused is told to the client, and stored nowhere', async () => {
    const browser = await signedInBrowser(stack, 'bob')
    const { page } = await askFor(browser)
    const refused = answerOf(await decide(browser, page, 'refuse'))
    expect(refused).toMatchObject({ error: 'access_denied', state: 'the state', iss: expect.any(String) })
    const { access } = await stack.logIn('bob')
    expect((await stack.auth.send('/consents', { token: access })).body.items).toEqual([])
  })

  it('is bound to the session that was asked, and to this site', async () => {
    const [browser, other] = [await signedInBrowser(stack, 'bob'), await signedInBrowser(stack, 'carol')]
    const { page } = await askFor(browser)
    const foreign = await decide(other, page, 'allow')
    expect(foreign.reply.status).toBe(400)
    expect(foreign.reply.text).toContain('Another user was asked')
    const form = { ...hiddenFields(page.reply.text), decision: 'allow' }
    const crossSite = await stack.auth.send('/oauth/authorize/decision', {
      method: 'POST',
      headers: {
        origin: 'https://evil.example',
        'sec-fetch-site': 'cross-site',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams(form).toString(),
    })
    expectProblem(crossSite, 403, 'cross-site')
  })

  it('that is withdrawn ends all logins of the user and the client at once', async () => {
    const browser = await signedInBrowser(stack, 'carol')
    const { page, verifier } = await askFor(browser, { scope: 'openid deal.read' })
    const { code = '' } = answerOf(await decide(browser, page, 'allow'))
    const { body } = await exchange(stack, client, { code, verifier })
    expect(await dealsWith(body.access_token)).toBe(200)
    const { access: token } = await stack.logIn('carol')
    const { body: list } = await stack.auth.send('/consents', { token })
    expect(list.items).toEqual([
      {
        clientId: client.id,
        name: 'Ledger & Sons',
        rights: ['deal.read'],
        scopes: ['openid'],
        grantedAt: expect.any(String),
      },
    ])
    const path = `/consents/${client.id}`
    expect((await stack.auth.send(path, { token, method: 'DELETE' })).status).toBe(204)
    expect(await dealsWith(body.access_token)).toBe(401)
    const refreshed = await askTokens(stack, client, {
      grant_type: 'refresh_token',
      refresh_token: String(body.refresh_token),
    })
    expect(refreshed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expectProblem(await stack.auth.send(path, { token, method: 'DELETE' }), 404, 'not-found')
    expect((await askFor(browser, { scope: 'openid deal.read' })).page.url).toContain('/account/authorize?')
  })

  it('that is withdrawn ends codes too, and what another consent does not cover', async () => {
    const browser = await signedInBrowser(stack, 'carol')
    const { page, verifier } = await askFor(browser, { scope: 'openid deal.read deal.hold' })
    const { code = '' } = answerOf(await decide(browser, page, 'allow'))
    const { access: token } = await stack.logIn('carol')
    expect((await stack.auth.send(`/consents/${client.id}`, { token, method: 'DELETE' })).status).toBe(204)
    const late = await exchange(stack, client, { code, verifier })
    expect(late).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    const { page: smaller } = await askFor(browser, { scope: 'openid deal.read' })
    await decide(browser, smaller, 'allow')
    const greater = await exchange(stack, client, { code, verifier })
    expect(greater).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
  })

  it('that is withdrawn while its code is exchanged leaves no login', async () => {
    const browser = await signedInBrowser(stack, 'carol')
    const { access: token } = await stack.logIn('carol')
    const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
    for (let round = 0; round < campaign({ short: 12, long: 300 }); round += 1) {
      const { page, verifier } = await askFor(browser, { scope: 'openid deal.read' })
      const { code = '' } = answerOf(await decide(browser, page, 'allow'))
      const [{ body }] = await Promise.all([
        later(round % 4).then(() => exchange(stack, client, { code, verifier })),
        later(round % 3).then(() => stack.auth.send(`/consents/${client.id}`, { token, method: 'DELETE' })),
      ])
      if (body.access_token !== undefined) expect(await dealsWith(body.access_token)).toBe(401)
    }
  })

  it('ends with the session: signing out ends the logins that hang on it, not those that may stay', async () => {
    const shop = await registerClient(stack)
    const browser = await signedInBrowser(stack, 'bob')
    const hanging = await exchange(stack, shop, await codeOf(browser, shop))
    const staying = await exchange(stack, shop, await codeOf(browser, shop, { scope: 'openid offline_access' }))
    expect(await dealsWith(hanging.body.access_token)).not.toBe(401)
    await browser.go('/sessions/current', { _method: 'DELETE' })
    expect(await dealsWith(hanging.body.access_token)).toBe(401)
    expect(await dealsWith(staying.body.access_token)).not.toBe(401)
    const refresh = (reply: typeof hanging) =>
      askTokens(stack, shop, { grant_type: 'refresh_token', refresh_token: String(reply.body.refresh_token) })
    expect((await refresh(hanging)).status).toBe(400)
    expect((await refresh(staying)).status).toBe(200)
  })
})
