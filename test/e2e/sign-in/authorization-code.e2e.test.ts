import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import {
  answerOf,
  askTokens,
  callback,
  codeOf,
  exchange,
  newVerifier,
  originOf,
  registerClient,
  requestOf,
  signedInBrowser,
  type TestClient,
} from '../../support/clients/sign-in/applications.ts'
import { Browser } from '../../support/clients/sign-in/browser.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let origin: string
let client: TestClient

describeBackends('the authorization code', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    origin = await originOf(stack)
    client = await registerClient(stack, { name: 'the shop' })
  })
  afterAll(() => stack.close())

  const userInfo = (token: string) => stack.auth.send('/oauth/userinfo', { token })
  const dealsWith = async (token: string) => (await stack.deal.send('/rest/v1/deals', { token })).status

  it('signs a person in: sign-in page, code, tokens, claims, deals, a refresh', async () => {
    const browser = new Browser(origin)
    const { verifier, challenge } = newVerifier()
    const asked = requestOf(client, { code_challenge: challenge, scope: 'openid profile roles' })
    const page = await browser.go(`/oauth/authorize?${asked}`)
    expect(page.reply.status).toBe(200)
    expect(page.url).toContain('/account/sign-in?')
    expect(page.reply.text).toContain('the shop')
    expect(page.reply.headers.get('content-security-policy')).toContain('https://app.example')
    const arrival = await browser.signIn(page, 'alice', passwordOf('alice'))
    expect(arrival.url.startsWith(`${callback}?`)).toBe(true)
    expect(arrival.reply.headers.get('referrer-policy')).toBe('no-referrer')
    const { code = '', ...rest } = answerOf(arrival)
    const { body: metadata } = await stack.auth.send('/.well-known/openid-configuration')
    expect(rest).toEqual({ state: 'the state', iss: metadata.issuer })
    const reply = await exchange(stack, client, { code, verifier })
    expect(reply.status).toBe(200)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    const { access_token, refresh_token, id_token, ...members } = reply.body as Record<string, string>
    expect(members).toEqual({
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      refresh_expires_in: expect.any(Number),
      scope: 'openid profile roles',
    })
    const jwks = createRemoteJWKSet(new URL(`${stack.auth.url}/.well-known/jwks.json`))
    const expected = { issuer: String(metadata.issuer), audience: client.id, typ: 'JWT' }
    const { payload } = await jwtVerify(id_token ?? '', jwks, expected)
    expect(payload).toMatchObject({ nonce: 'the nonce', preferred_username: 'alice', acr: 'pwd', amr: ['pwd'] })
    const claims = decodeJwt(access_token ?? '')
    expect(claims).toMatchObject({ client_id: client.id, sub: 'alice', auth_time: payload.auth_time })
    expect(claims).not.toHaveProperty('scope')
    expect((await userInfo(access_token ?? '')).body).toMatchObject({ sub: payload.sub, roles: payload.roles })
    expect(await dealsWith(access_token ?? '')).toBe(200)
    const refreshed = await askTokens(stack, client, { grant_type: 'refresh_token', refresh_token })
    expect(refreshed.status).toBe(200)
    const again = decodeJwt(String(refreshed.body.id_token))
    expect(again).toMatchObject({ sub: payload.sub, aud: client.id, auth_time: payload.auth_time, sid: payload.sid })
    expect(again).not.toHaveProperty('nonce')
    expect(await dealsWith(String(refreshed.body.access_token))).toBe(200)
  })

  it('gives logins whose refresh may ask for less, once, and never for more', async () => {
    const browser = await signedInBrowser(stack, 'alice')
    const asked = { scope: 'openid profile deal.read deal.hold' }
    const first = await exchange(stack, client, await codeOf(browser, client, asked))
    let { refresh_token } = first.body as { refresh_token: string }
    const refresh = async (scope?: string) => {
      const form = { grant_type: 'refresh_token', refresh_token, ...(scope !== undefined && { scope }) }
      const { status, body } = await askTokens(stack, client, form)
      if (status === 200) refresh_token = String(body.refresh_token)
      const may = status === 200 ? decodeJwt(String(body.access_token)).scope : undefined
      return { error: body.error, scope: body.scope, may, hasIdToken: body.id_token !== undefined }
    }
    const refused = { error: 'invalid_scope', scope: undefined, may: undefined, hasIdToken: false }
    const given = (scope: string, may: string, hasIdToken: boolean) => ({ error: undefined, scope, may, hasIdToken })
    expect(await refresh('deal.read')).toEqual(given('deal.read', 'deal.read', false))
    expect(await refresh('deal.read openid')).toEqual(given('openid deal.read', 'deal.read', true))
    for (const more of ['openid email', 'user.manage', 'x', ' ']) expect(await refresh(more)).toEqual(refused)
    expect(await refresh()).toEqual(given(asked.scope, 'deal.read deal.hold', true))
  })

  it('works once: a second use ends what came of the first', async () => {
    const browser = await signedInBrowser(stack, 'bob')
    const code = await codeOf(browser, client)
    const first = await exchange(stack, client, code)
    expect(first.status).toBe(200)
    const { access_token: token, refresh_token } = first.body as Record<string, string>
    expect(await dealsWith(token ?? '')).toBe(200)
    const second = await exchange(stack, client, code)
    expect(second).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect(await dealsWith(token ?? '')).toBe(401)
    const refreshed = await askTokens(stack, client, { grant_type: 'refresh_token', refresh_token })
    expect(refreshed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
  })

  it('used twice at once makes at most one login, which ends', async () => {
    const browser = await signedInBrowser(stack, 'bob')
    const code = await codeOf(browser, client)
    const replies = await Promise.all([1, 2, 3].map(() => exchange(stack, client, code)))
    const given = replies.filter(({ status }) => status === 200)
    expect(given.length).toBeLessThanOrEqual(1)
    for (const { body } of given) expect(await dealsWith(String(body.access_token))).toBe(401)
  })

  describe('of the documentation pages', () => {
    const docs = (): TestClient => ({ id: 'keyhold-docs', secret: '', redirectUri: `${origin}/docs` })

    it('acts for its user, asks for no consent, ends with the session, and is no client that can be changed', async () => {
      const browser = await signedInBrowser(stack, 'alice')
      const { body } = await exchange(stack, docs(), await codeOf(browser, docs()))
      const token = String(body.access_token)
      expect(decodeJwt(token)).toMatchObject({ client_id: 'keyhold-docs', sub: 'alice' })
      expect(decodeJwt(token)).not.toHaveProperty('scope')
      const client = { id: 'keyhold-docs', name: 'Keyhold documentation' }
      const { body: own } = await stack.auth.send('/sessions', { token })
      expect(own.items).toContainEqual(expect.objectContaining({ current: true, client }))
      const grant = { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) }
      expect((await askTokens(stack, docs(), grant)).body).toMatchObject({ scope: 'openid' })
      const { access } = await stack.logIn('admin')
      const removal = { token: access, method: 'DELETE' }
      expectProblem(await stack.auth.send('/clients/keyhold-docs', removal), 404, 'not-found')
      await browser.go('/sessions/current', { _method: 'DELETE' })
      expect(await dealsWith(token)).toBe(401)
      expect((await askTokens(stack, docs(), grant)).body.error).toBe('invalid_grant')
    })

    it('can live ten times in one session', async () => {
      const browser = await signedInBrowser(stack, 'bob')
      const tokens: string[] = []
      for (let made = 0; made < 12; made += 1) {
        const { body } = await exchange(stack, docs(), await codeOf(browser, docs()))
        tokens.push(String(body.access_token))
      }
      const statuses = await Promise.all(tokens.map(dealsWith))
      expect(statuses).toEqual([401, 401, ...Array(10).fill(200)])
    })

    it('sends codes to the pages alone, for a challenge, and has no other grant', async () => {
      const browser = await signedInBrowser(stack, 'alice')
      const { challenge } = newVerifier()
      const ask = (more: Record<string, string | null>) =>
        browser.go(`/oauth/authorize?${requestOf(docs(), { code_challenge: challenge, ...more })}`)
      const { host, port } = new URL(origin)
      for (const uri of [
        'https://evil.example/docs',
        `${origin}/docs/`,
        `${origin}/Docs`,
        `${origin}/docs?x`,
        `${origin}/account`,
        `http://user@${host}/docs`,
        `${origin.replace(port, '1')}/docs`,
        `https://${host}/docs`,
        // Of the deal server, whose origin is no secure one here.
        'http://deals.test/rest/docs',
      ]) {
        const { url, reply } = await ask({ redirect_uri: uri })
        expect({ uri, at: new URL(url).origin, status: reply.status }).toEqual({ uri, at: origin, status: 400 })
      }
      expect(answerOf(await ask({ code_challenge: null })).error).toBe('invalid_request')
      const begun = await stack.auth.send('/oauth/device_authorization', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'client_id=keyhold-docs',
      })
      expect(begun).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } })
    })
  })
})
