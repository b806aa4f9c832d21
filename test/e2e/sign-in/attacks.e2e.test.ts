import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { maxRevokedIds } from '../../../auth-server/logins/login.ts'
import { loginFamilies } from '../../../auth-server/store/schema.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import {
  answerOf,
  askTokens,
  codeOf,
  exchange,
  newVerifier,
  originOf,
  registerClient,
  requestOf,
  signedInBrowser,
  type TestClient,
} from '../../support/clients/sign-in/applications.ts'
import { Browser, hiddenFields } from '../../support/clients/sign-in/browser.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack

describeBackends('an attack on signing in', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())

  const dealsWith = async (token: unknown) => (await stack.deal.send('/rest/v1/deals', { token: String(token) })).status
  const refresh = (client: TestClient, refresh_token: unknown) =>
    askTokens(stack, client, { grant_type: 'refresh_token', refresh_token: String(refresh_token) })
  const patch = async (client: TestClient, json: object) => {
    const { access: token } = await stack.logIn('admin')
    const { status, text } = await stack.auth.send(`/clients/${client.id}`, { token, method: 'PATCH', json })
    expect({ status, text }).toMatchObject({ status: 200 })
  }
  const askFor = async (browser: Browser, client: TestClient, more: Record<string, string | null> = {}) => {
    const { verifier, challenge } = newVerifier()
    const page = await browser.go(`/oauth/authorize?${requestOf(client, { code_challenge: challenge, ...more })}`)
    return { verifier, page }
  }
  const allow = (browser: Browser, page: { reply: { text: string } }) =>
    browser.go('/oauth/authorize/decision', { ...hiddenFields(page.reply.text), decision: 'allow' })

  it('does not revive a login whose session was ended elsewhere, when its user signs in there again', async () => {
    const client = await registerClient(stack)
    const browser = await signedInBrowser(stack, 'bob')
    const { body } = await exchange(stack, client, await codeOf(browser, client))
    const { access: token } = await stack.logIn('bob')
    const { body: list } = await stack.auth.send('/sessions?limit=100', { token })
    for (const { id, kind } of list.items as { id: string; kind: string }[])
      if (kind === 'session') await stack.auth.send(`/sessions/${id}`, { token, method: 'DELETE' })
    expect(await dealsWith(body.access_token)).toBe(401)
    await browser.go('/sessions', { username: 'bob', password: passwordOf('bob') })
    expect(await dealsWith(body.access_token)).toBe(401)
    expect((await refresh(client, body.refresh_token)).status).toBe(400)
  })

  it('gets no code at a redirect URI that the client has given up, with a request from before', async () => {
    const client = await registerClient(stack)
    const { page } = await askFor(new Browser(await originOf(stack)), client)
    await patch(client, { redirectUris: ['https://app.example/other'] })
    const { url, reply } = await (await signedInBrowser(stack, 'bob')).go(hiddenFields(page.reply.text).return_to ?? '')
    expect({ path: new URL(url).pathname, status: reply.status }).toEqual({ path: '/oauth/authorize', status: 400 })
  })

  it('gets no rights that the client has lost, by a request, a code or a refresh token from before', async () => {
    const client = await registerClient(stack, { rights: ['deal.read', 'deal.hold'] })
    const browser = await signedInBrowser(stack, 'bob')
    const early = await codeOf(browser, client)
    const { body } = await exchange(
      stack,
      client,
      await codeOf(browser, client, { scope: 'openid deal.read deal.hold' }),
    )
    const lost = await askFor(new Browser(await originOf(stack)), client, { scope: 'openid deal.hold' })
    await patch(client, { rights: ['deal.read'] })
    const refreshed = await refresh(client, body.refresh_token)
    expect(decodeJwt(String(refreshed.body.access_token)).scope).toBe('deal.read')
    expect(refreshed.body.scope).toBe('openid deal.read')
    const exchanged = await exchange(stack, client, early)
    expect(decodeJwt(String(exchanged.body.access_token)).scope).toBe('deal.read')
    const { code = '' } = answerOf(await browser.go(hiddenFields(lost.page.reply.text).return_to ?? ''))
    const { body: empty } = await exchange(stack, client, { code, verifier: lost.verifier })
    expect(decodeJwt(String(empty.access_token)).scope).toBe('')
  })

  it('gets no login by a code of a user who has lost the right that the client needs', async () => {
    const client = await registerClient(stack, { needsRight: 'deal.hold' })
    const { access: token } = await stack.logIn('admin')
    const username = 'frank'
    await stack.auth.send('/users', { token, json: { username, password: passwordOf(username), roles: ['manager'] } })
    const early = await codeOf(await signedInBrowser(stack, username), client)
    const { status } = await stack.auth.send(`/users/${username}`, { token, method: 'PATCH', json: { roles: [] } })
    expect(status).toBe(200)
    const exchanged = await exchange(stack, client, early)
    expect({ status: exchanged.status, error: exchanged.body.error }).toEqual({ status: 400, error: 'invalid_grant' })
  })

  it('makes no token that is too long for every server, by a client with many rights', async () => {
    const { access: token } = await stack.logIn('admin')
    const names = Array.from({ length: 60 }, (_, at) => `long.${'r'.repeat(70)}${at}`)
    const json = {
      id: 'long',
      name: 'long',
      audience: 'https://long.example/',
      rights: names.map((name) => ({ name })),
    }
    expect((await stack.auth.send('/resource-servers', { token, json })).status).toBe(201)
    const values = { name: 'many', kind: 'public', rights: names, redirectUris: ['https://app.example/'] }
    const { body } = await stack.auth.send('/clients', { token, json: values })
    expect(body.errors).toMatchObject([{ pointer: '/rights', code: 'rights-length' }])
  })

  it('gets a list of rights by a refresh, when the client no longer has all', async () => {
    const client = await registerClient(stack)
    const { body } = await exchange(stack, client, await codeOf(await signedInBrowser(stack, 'bob'), client))
    expect(decodeJwt(String(body.access_token)).scope).toBeUndefined()
    await patch(client, { firstParty: false, rights: ['deal.read'] })
    const refreshed = await refresh(client, body.refresh_token)
    expect(decodeJwt(String(refreshed.body.access_token)).scope).toBe('deal.read')
  })

  it('gets no login by a code from before the consent was withdrawn', async () => {
    const client = await registerClient(stack, { firstParty: false, rights: ['deal.read'] })
    const browser = await signedInBrowser(stack, 'carol')
    const { page, verifier } = await askFor(browser, client, { scope: 'openid deal.read' })
    const { code = '' } = answerOf(await allow(browser, page))
    const { access: token } = await stack.logIn('carol')
    expect((await stack.auth.send(`/consents/${client.id}`, { token, method: 'DELETE' })).status).toBe(204)
    const { status, body } = await exchange(stack, client, { code, verifier })
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_grant' })
  })

  it('does not lose prompt=consent when the session ends before the answer', async () => {
    const client = await registerClient(stack, { firstParty: false, rights: [] })
    const browser = await signedInBrowser(stack, 'carol')
    await allow(browser, (await askFor(browser, client)).page)
    const { page } = await askFor(browser, client, { prompt: 'consent' })
    browser.forget()
    const signIn = await allow(browser, page)
    const { url } = await browser.signIn(signIn, 'carol', passwordOf('carol'))
    expect(url).toContain('/account/authorize?')
  })

  it('makes no record grow by logins that end: so many ended ones are remembered, however they end', async () => {
    const client = await registerClient(stack)
    const browser = await signedInBrowser(stack, 'alice')
    await exchange(stack, client, await codeOf(browser, client))
    const { drizzle } = stack.database
    const [one] = await drizzle.select().from(loginFamilies).where(eq(loginFamilies.clientId, client.id))
    if (!one) throw new Error('the login is stored')
    const copies = (more: object) =>
      Array.from({ length: maxRevokedIds }, () => ({ ...one, id: randomUUID(), ...more }))
    const ended = { endedAt: new Date(stack.clock.now()), endedReason: 'displaced' as const }
    await drizzle.insert(loginFamilies).values(copies(ended))
    const flooded = await exchange(stack, client, await codeOf(browser, client))
    expect({ status: flooded.status, error: flooded.body.error }).toEqual({
      status: 429,
      error: 'temporarily_unavailable',
    })
    await stack.logIn('alice')
    await drizzle.delete(loginFamilies).where(eq(loginFamilies.endedReason, 'displaced'))
    await drizzle.insert(loginFamilies).values(copies({}))
    await browser.go('/sessions/current', { _method: 'DELETE' })
    const username = 'alice'
    const json = { username, password: passwordOf(username) }
    expectProblem(await stack.auth.send('/login', { json }), 429, 'too-many-logins')
  })

  it('does not meet max_age by a sign-in that was new when the request began', async () => {
    const client = await registerClient(stack)
    const { page } = await askFor(new Browser(await originOf(stack)), client, { max_age: '60' })
    const browser = await signedInBrowser(stack, 'bob')
    stack.clock.advanceSeconds(299)
    const back = hiddenFields(page.reply.text).return_to ?? ''
    expect((await browser.go(back)).url).toContain(`${client.redirectUri}?code=`)
    stack.clock.advanceSeconds(2)
    expect((await browser.go(back)).url).toContain('/account/sign-in?')
  })

  it('writes nothing into the policy of a page by the host of a redirect URI, which a policy can name', async () => {
    const { access: token } = await stack.logIn('admin')
    for (const host of ['a;sandbox.example', 'a,b.example', "a'b.example"]) {
      const json = { name: host, kind: 'public', rights: [], redirectUris: [`https://${host}/`] }
      const { body } = await stack.auth.send('/clients', { token, json })
      expect(body.errors).toMatchObject([{ pointer: '/redirectUris/0', code: 'redirect-form' }])
    }
    const formActionOf = (headers: Headers) =>
      /form-action ([^;]*)/
        .exec(headers.get('content-security-policy') ?? '')?.[1]
        ?.split(' ')
        .at(-1)
    const client = await registerClient(stack, {
      redirectUris: ['http://[::1]/'],
      postLogoutRedirectUris: ['a.b:/out'],
    })
    const asked = await askFor(new Browser(await originOf(stack)), client)
    // Chromium ignores a source with an IPv6 address, and stops the redirect without a word.
    expect(formActionOf(asked.page.reply.headers)).toBe('http:')
    const signOut = new URLSearchParams({ client_id: client.id, post_logout_redirect_uri: 'a.b:/out' })
    const asking = await (await signedInBrowser(stack, 'bob')).go(`/oauth/logout?${signOut}`)
    expect(formActionOf(asking.reply.headers)).toBe('a.b:')
  })

  it('pushes no request in which a parameter stands twice', async () => {
    const client = await registerClient(stack)
    const push = async (more: Readonly<Record<string, string>>) => {
      const body = requestOf(client, { code_challenge: newVerifier().challenge })
      for (const [name, value] of Object.entries(more)) body.append(name, value)
      const response = await fetch(`${stack.auth.url}/oauth/par`, { method: 'POST', body })
      return { status: response.status, error: ((await response.json()) as { error?: string }).error }
    }
    expect(await push({})).toEqual({ status: 201, error: undefined })
    expect(await push({ state: 'another' })).toEqual({ status: 400, error: 'invalid_request' })
    expect(await push({ redirect_uri: 'https://evil.example/' })).toEqual({ status: 400, error: 'invalid_request' })
  })

  it('finds no answer on the way to a code that another status repeats, a cache keeps, a Referer tells or a frame holds', async () => {
    const client = await registerClient(stack, { firstParty: false, rights: ['deal.read'] })
    const browser = new Browser(await originOf(stack))
    const signIn = (await askFor(browser, client)).page
    const consent = await browser.signIn(signIn, 'carol', passwordOf('carol'))
    const refused = await askFor(browser, client, { redirect_uri: 'https://evil.example/' })
    const doubled = await browser.go('/oauth/authorize', { client_id: 'x' })
    await allow(browser, consent)
    const statuses = browser.answers.map(({ reply }) => reply.status)
    expect(statuses).toEqual([303, 200, 303, 303, 200, 400, 400, 303])
    expect([refused.page.reply.status, doubled.reply.status]).toEqual([400, 400])
    for (const { url, reply } of browser.answers) {
      const { pathname } = new URL(url)
      const got = (name: string) => reply.headers.get(name)
      expect({ pathname, cached: got('cache-control') }).toEqual({ pathname, cached: 'no-store' })
      // Of a page, other sites learn the origin alone: its URL has the sealed request.
      const isPage = reply.status !== 303
      expect({ pathname, referrer: got('referrer-policy') }).toEqual({
        pathname,
        referrer: isPage ? 'strict-origin' : expect.stringMatching(/^(no-referrer|strict-origin)$/),
      })
      expect(got('content-security-policy')).toContain("frame-ancestors 'none'")
    }
  })

  it('gets nothing to hold in a frame by prompt=none: each answer is a redirect to the client', async () => {
    const [own, third] = [await registerClient(stack), await registerClient(stack, { firstParty: false, rights: [] })]
    const closed = await registerClient(stack, { needsRight: 'user.manage' })
    const nobody = new Browser(await originOf(stack))
    const user = await signedInBrowser(stack, 'bob')
    const silent: [Browser, TestClient, Record<string, string>, string][] = [
      [nobody, own, {}, 'login_required'],
      [user, own, { max_age: '0' }, 'login_required'],
      [user, third, {}, 'consent_required'],
      [user, closed, {}, 'access_denied'],
      [user, own, { prompt: 'none login' }, 'invalid_request'],
      [user, own, { scope: 'nothing' }, 'invalid_scope'],
      [user, own, {}, ''],
    ]
    for (const [browser, client, more, error] of silent) {
      stack.clock.advanceSeconds(1)
      browser.answers.length = 0
      const { page } = await askFor(browser, client, { prompt: 'none', ...more })
      expect(browser.answers.map(({ reply }) => ({ status: reply.status, body: reply.text }))).toEqual([
        { status: 303, body: '' },
      ])
      const { error: got = '', code } = answerOf(page)
      expect({ error: got, hasCode: code !== undefined }).toEqual({ error, hasCode: error === '' })
    }
    // A pushed request, and one by a form, go the same way.
    const asked = requestOf(own, { prompt: 'none', code_challenge: newVerifier().challenge })
    expect((await user.go('/oauth/authorize', Object.fromEntries(asked))).url).toContain(`${own.redirectUri}?code=`)
  })

  it('is nobody by an id that is the name of a user, and a user of that name is no client (RFC 9700 §4.15)', async () => {
    const client = await registerClient(stack, { kind: 'confidential' })
    const { access: token } = await stack.logIn('admin')
    const name = client.id
    const made = await stack.auth.send('/users', { token, json: { username: name, password: passwordOf(name) } })
    expect(made.status).toBe(201)
    const own = await askTokens(stack, client, { grant_type: 'client_credentials' })
    expect({ status: own.status, error: own.body.error }).toEqual({ status: 400, error: 'unauthorized_client' })
    const { body } = await exchange(stack, client, await codeOf(await signedInBrowser(stack, name), client))
    const [access, id] = [decodeJwt(String(body.access_token)), decodeJwt(String(body.id_token))]
    expect(access).toMatchObject({ sub: name, client_id: client.id, sid: expect.not.stringMatching(client.id) })
    expect(id).toMatchObject({ aud: client.id, sub: expect.not.stringMatching(client.id) })
    const info = await stack.auth.send('/oauth/userinfo', { token: String(body.access_token) })
    expect(info.body.sub).toBe(id.sub)
    // To introspection it is a login, not the token of an API key of this id.
    expect(await dealsWith(body.access_token)).toBe(403)
    const again = await refresh(client, body.refresh_token)
    expect(again.status).toBe(200)
  })

  it('makes no browser forget what it stores, by a picture of another site', async () => {
    const { headers } = await stack.auth.send('/oauth/logout', { headers: { 'sec-fetch-site': 'cross-site' } })
    expect(headers.get('clear-site-data')).toBeNull()
  })
})
