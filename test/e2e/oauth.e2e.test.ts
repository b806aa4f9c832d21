import { createHmac, createPrivateKey, randomUUID } from 'node:crypto'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createEndedTokenExpiry } from '../../auth-server/oauth/end-token.ts'
import { describeBackends } from '../support/backends.ts'
import { expectProblem, rememberSecret } from '../support/http-client.ts'
import {
  assertionOf,
  basicOf,
  expectOAuthError,
  type MadeKey,
  makeApiKey,
  postForm,
} from '../support/oauth-requests.ts'
import { keySignedHeaders, keySignedToken } from '../support/scheme-clients/key-signed.ts'
import { openStack, passwordOf, type Stack, type TestServer } from '../support/stack.ts'

let stack: Stack
let alice: string
let hmac: MadeKey
let rsa: MadeKey

const allowHttp = { [oauth.allowInsecureRequests]: true }
const grantType = { grant_type: 'client_credentials' }

/** Posts a form to /oauth/token as the key of kind `hmac`. */
const asKey = (form: Record<string, string>, path = '/oauth/token', key = hmac) =>
  postForm(stack, path, form, basicOf(key.id, key.secret))

const keyToken = async (form: Record<string, string> = {}, key = hmac): Promise<string> => {
  const { status, body, text } = await asKey({ ...grantType, ...form }, '/oauth/token', key)
  expect(status, text).toBe(200)
  return String(body.access_token)
}

const deals = (token: string) => stack.deal.send('/rest/v1/deals', { token })
const createDeal = (token: string) => stack.deal.send('/rest/v1/deals/', { token, json: { name: 'deal', price: 1 } })
const introspect = (token: string, form: Record<string, string> = {}) => asKey({ token, ...form }, '/oauth/introspect')

describeBackends('OAuth', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    alice = (await stack.logIn('alice')).access
    hmac = await makeApiKey(stack, alice, { kind: 'hmac' })
    rsa = await makeApiKey(stack, alice, { kind: 'rsa' })
  }, 60_000)
  afterAll(() => stack.close())

  const discover = async () => {
    const issuer = new URL(stack.auth.url)
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...allowHttp })
    return oauth.processDiscoveryResponse(issuer, found)
  }

  it.each(['client_secret_basic', 'client_secret_post', 'private_key_jwt'])(
    'serves oauth4webapi: discovery, client credentials by %s, introspection, and the token at the deal server',
    async (method) => {
      const as = await discover()
      expect(as.token_endpoint_auth_methods_supported).toContain(method)
      const key = method === 'private_key_jwt' ? rsa : hmac
      const pem = new Uint8Array(
        method === 'private_key_jwt'
          ? createPrivateKey(rsa.privateKeyPem).export({ type: 'pkcs8', format: 'der' })
          : [],
      )
      const authentication =
        method === 'client_secret_basic'
          ? oauth.ClientSecretBasic(hmac.secret)
          : method === 'client_secret_post'
            ? oauth.ClientSecretPost(hmac.secret)
            : oauth.PrivateKeyJwt(
                await crypto.subtle.importKey('pkcs8', pem, { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, false, [
                  'sign',
                ]),
              )
      const self = { client_id: key.id }
      const answer = await oauth.clientCredentialsGrantRequest(
        as,
        self,
        authentication,
        new URLSearchParams({ scope: 'deal.read deal.create' }),
        allowHttp,
      )
      const {
        access_token: token,
        scope,
        expires_in,
        refresh_token,
      } = await oauth.processClientCredentialsResponse(as, self, answer)
      rememberSecret(token)
      expect({ scope, expires_in, refresh_token }).toEqual({
        scope: 'deal.read deal.create',
        expires_in: 1800,
        refresh_token: undefined,
      })
      expect((await createDeal(token)).status).toBe(201)
      const asked = await oauth.introspectionRequest(as, self, authentication, token, allowHttp)
      expect(await oauth.processIntrospectionResponse(as, self, asked)).toMatchObject({
        ...{ active: true, scope: 'deal.read deal.create', client_id: key.id, username: 'alice', token_type: 'Bearer' },
      })
    },
  )

  it('serves openid-client: discovery, refresh, revocation', async () => {
    const config = await client.discovery(new URL(stack.auth.url), 'keyhold', undefined, client.None(), {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
    })
    const { access, refresh } = await stack.logIn('carol')
    const tokens = await client.refreshTokenGrant(config, refresh)
    for (const secret of [tokens.access_token, tokens.refresh_token ?? '']) rememberSecret(secret)
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 1800, refresh_expires_in: 86_400 })
    expect((await deals(tokens.access_token)).status).toBe(200)
    expect((await deals(access)).status).toBe(200)
    await client.tokenRevocation(config, tokens.refresh_token ?? '')
    await expect.poll(async () => (await deals(tokens.access_token)).status, { timeout: 1000 }).toBe(401)
    expectProblem(await deals(access), 401, 'login-ended')
    await expect(client.refreshTokenGrant(config, tokens.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    await client.tokenRevocation(config, 'no token at all')
  })

  it('gives tokens that jose verifies with the published keys', async () => {
    const token = await keyToken()
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', stack.auth.url))
    const expected = { issuer: stack.auth.url, audience: 'deals', typ: 'at+jwt', algorithms: ['RS256'] }
    const { payload } = await jwtVerify(token, keys, { ...expected, currentDate: new Date(stack.clock.now()) })
    expect(payload).toMatchObject({ sub: 'alice', client_id: hmac.id, sid: hmac.id })
    expect(payload.scope).toBeUndefined()
    expect(decodeProtectedHeader(token).typ).toBe('at+jwt')
  })

  it('refreshes with the rights of the moment, with the same rotation as /refresh', async () => {
    const { refresh } = await stack.logIn('bob')
    const form = { grant_type: 'refresh_token', refresh_token: refresh, client_id: 'keyhold' }
    const first = await postForm(stack, '/oauth/token', form)
    expect(first.body).toMatchObject({ token_type: 'Bearer', expires_in: 1800, refresh_expires_in: 86_400 })
    expect(first.headers.get('cache-control')).toBe('no-store')
    const again = await stack.auth.send('/refresh', { method: 'POST', token: refresh })
    expect(again.body.refresh_token).toBe(first.body.refresh_token)
    const { client_id: _named, ...unnamed } = form
    const second = await postForm(stack, '/oauth/token', {
      ...unnamed,
      refresh_token: String(first.body.refresh_token),
    })
    expect(second.status).toBe(200)
    expectOAuthError(await postForm(stack, '/oauth/token', form), 400, 'invalid_grant')
    expectOAuthError(
      await postForm(stack, '/oauth/token', { ...form, refresh_token: String(second.body.refresh_token) }),
      400,
      'invalid_grant',
    )
  })

  it('lets no other client use a refresh token, which stays good', async () => {
    const { refresh } = await stack.logIn('alice')
    expectOAuthError(await asKey({ grant_type: 'refresh_token', refresh_token: refresh }), 400, 'invalid_grant')
    expectOAuthError(
      await postForm(stack, '/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: refresh,
        client_id: hmac.id,
      }),
      401,
      'invalid_client',
    )
    expectOAuthError(
      await postForm(stack, '/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: refresh,
        scope: 'deal.read',
      }),
      400,
      'invalid_scope',
    )
    expect((await stack.auth.send('/refresh', { method: 'POST', token: refresh })).status).toBe(200)
  })

  it('lets a token do what its key may and its scope says, on both servers, and no more', async () => {
    const narrow = await makeApiKey(stack, alice, { kind: 'hmac', rights: ['deal.read', 'deal.hold'] })
    const whole = await keyToken({}, narrow)
    expect(decodeJwt(whole).scope).toBe('deal.read deal.hold')
    expect((await deals(whole)).status).toBe(200)
    const refused = await createDeal(whole)
    expectProblem(refused, 403, 'missing-right')
    expect(refused.headers.get('www-authenticate')).toContain('insufficient_scope')
    const me = await stack.auth.send('/me', { token: whole })
    expect(me.body).toMatchObject({ username: 'alice', rights: ['deal.read', 'deal.hold'] })
    const scoped = await keyToken({ scope: 'deal.hold' }, narrow)
    expectProblem(await deals(scoped), 403, 'missing-right')
    for (const scope of [
      'deal.create',
      'user.manage',
      'deal.read deal.create',
      'nonsense',
      'deal.read  deal.hold',
      '"',
    ])
      expectOAuthError(await asKey({ ...grantType, scope }, '/oauth/token', narrow), 400, 'invalid_scope')
    const none = await makeApiKey(stack, alice, { kind: 'hmac', rights: [] })
    const { body } = await asKey(grantType, '/oauth/token', none)
    expect(body.scope).toBeUndefined()
    expectProblem(await deals(String(body.access_token)), 403, 'missing-right')
  })

  it('ends the tokens of a key with the key, within a second', async () => {
    const key = await makeApiKey(stack, alice, { kind: 'hmac' })
    const token = await keyToken({}, key)
    expect((await deals(token)).status).toBe(200)
    expect((await stack.auth.send(`/api-keys/${key.id}`, { method: 'DELETE', token: alice })).status).toBe(204)
    expectProblem(await stack.auth.send('/me', { token }), 401, 'login-ended')
    await expect.poll(async () => (await deals(token)).status, { timeout: 1000 }).toBe(401)
    expectOAuthError(await asKey(grantType, '/oauth/token', key), 401, 'invalid_client')
    expect((await introspect(token)).body).toEqual({ active: false })
  })

  it('gives no token that outlives its key', async () => {
    const expiresAt = new Date(Math.ceil(stack.clock.now() / 1000) * 1000 + 90_000).toISOString()
    const key = await makeApiKey(stack, alice, { kind: 'hmac', expiresAt })
    const { body } = await asKey(grantType, '/oauth/token', key)
    expect(body.expires_in).toBeGreaterThan(80)
    expect(body.expires_in).toBeLessThanOrEqual(91)
  })

  it('takes an assertion once, for the issuer or the endpoint', async () => {
    for (const aud of [stack.auth.url, `${stack.auth.url}/oauth/token`, [stack.auth.url]]) {
      const assertion = await assertionOf(stack, rsa, { claims: { aud } })
      expect((await postForm(stack, '/oauth/token', { ...grantType, ...assertion })).status).toBe(200)
      expectOAuthError(await postForm(stack, '/oauth/token', { ...grantType, ...assertion }), 401, 'invalid_client')
    }
    const both = await assertionOf(stack, rsa, { header: { typ: 'JWT', kid: 'of its own' } })
    const copies = await Promise.all(
      Array.from({ length: 5 }, () => postForm(stack, '/oauth/token', { ...grantType, ...both, client_id: rsa.id })),
    )
    expect(copies.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401])
  })

  it('tells what a token is worth, to whom it concerns', async () => {
    const { access, refresh } = await stack.logIn('alice')
    const claims = decodeJwt(access)
    const seen = await introspect(access, { token_type_hint: 'refresh_token' })
    const { body, headers } = seen
    expect(body).toMatchObject({
      active: true,
      username: 'alice',
      sub: 'alice',
      client_id: 'keyhold',
      token_type: 'Bearer',
    })
    expect(body).toMatchObject({ exp: claims.exp, iat: claims.iat, jti: claims.jti, aud: 'deals', iss: stack.auth.url })
    expect(String(body.scope).split(' ')).toContain('deal.complete')
    expect(headers.get('cache-control')).toBe('no-store')
    expect((await introspect(refresh)).body).toMatchObject({ active: true, username: 'alice', client_id: 'keyhold' })
    const other = await stack.logIn('bob')
    for (const token of [other.access, other.refresh, 'nonsense', `${access}x`, hmac.id, hmac.secret])
      expect((await introspect(token)).body).toEqual({ active: false })
    const admin = (await stack.logIn('admin')).access
    const asAdmin = (token: string) =>
      postForm(stack, '/oauth/introspect', { token }, { authorization: `Bearer ${admin}` })
    expect((await asAdmin(other.access)).body).toMatchObject({ active: true, username: 'bob' })
    expect((await asAdmin(other.refresh)).body).toMatchObject({ active: true, username: 'bob' })
    const asBob = await postForm(
      stack,
      '/oauth/introspect',
      { token: access },
      { authorization: `Bearer ${other.access}` },
    )
    expect(asBob.body).toEqual({ active: false })
    await stack.auth.send('/refresh', { method: 'POST', token: refresh })
    expect((await introspect(refresh)).body).toEqual({ active: false })
    await stack.auth.send('/logout', { method: 'POST', token: access })
    expect((await introspect(access)).body).toEqual({ active: false })
  })

  it('tells it to callers of other schemes too: a user by Basic, an API key by its signature', async () => {
    const { access } = await stack.logIn('carol')
    const user = Buffer.from(`carol:${passwordOf('carol')}`).toString('base64')
    const asCarol = await postForm(stack, '/oauth/introspect', { token: access }, { authorization: `Basic ${user}` })
    expect(asCarol.body).toMatchObject({ active: true, username: 'carol' })
    const wrong = Buffer.from('carol:not her password').toString('base64')
    const refused = await postForm(stack, '/oauth/introspect', { token: access }, { authorization: `Basic ${wrong}` })
    expectOAuthError(refused, 401, 'invalid_client')
    const keyless = await postForm(stack, '/oauth/introspect', { token: access }, basicOf(randomUUID(), 'secret'))
    expectOAuthError(keyless, 401, 'invalid_client')
    const carolsKey = await makeApiKey(stack, access, { kind: 'hmac', requireBodyHash: false })
    const query = `apikey=${carolsKey.id}&timestamp=${Math.floor(stack.clock.now() / 1000)}`
    const signature = createHmac('sha256', carolsKey.secret).update(`/oauth/introspect?${query}`).digest('hex')
    const signed = await postForm(stack, `/oauth/introspect?${query}&signature=${signature}`, { token: access })
    expect(signed.body, signed.text).toMatchObject({ active: true, username: 'carol' })
  })

  it('ends a login by either of its tokens, whichever the hint, and only for its own client', async () => {
    for (const kind of ['access', 'refresh'] as const) {
      const tokens = await stack.logIn('carol')
      expectOAuthError(await asKey({ token: tokens[kind] }, '/oauth/revoke'), 400, 'unauthorized_client')
      expect((await deals(tokens.access)).status).toBe(200)
      const revoked = await postForm(stack, '/oauth/revoke', {
        token: tokens[kind],
        client_id: 'keyhold',
        token_type_hint: 'x',
      })
      expect({ status: revoked.status, body: revoked.body }).toEqual({ status: 200, body: {} })
      expectProblem(await stack.auth.send('/me', { token: tokens.access }), 401, 'login-ended')
      expect((await postForm(stack, '/oauth/revoke', { token: tokens[kind] })).status).toBe(200)
    }
  })

  it('ends one token of a key, for that key alone, within a second and on both servers', async () => {
    const [token, sister] = [await keyToken(), await keyToken()]
    expect((await deals(token)).status).toBe(200)
    expectOAuthError(await postForm(stack, '/oauth/revoke', { token }), 401, 'invalid_client')
    const other = await makeApiKey(stack, alice, { kind: 'hmac' })
    expectOAuthError(await asKey({ token }, '/oauth/revoke', other), 400, 'unauthorized_client')
    expect((await deals(token)).status).toBe(200)
    expect((await asKey({ token }, '/oauth/revoke')).status).toBe(200)
    expectProblem(await stack.auth.send('/me', { token }), 401, 'login-ended')
    await expect.poll(async () => (await deals(token)).status, { timeout: 1000 }).toBe(401)
    expect((await introspect(token)).body).toEqual({ active: false })
    expect((await deals(sister)).status).toBe(200)
    expect((await asKey({ token }, '/oauth/revoke')).status).toBe(200)
    expect((await asKey({ token: 'nonsense' }, '/oauth/revoke')).status).toBe(200)
  })

  it.each([
    ['of a user', ['username'], 'alice'],
    ['of nobody', [], 'anonymous'],
  ])(
    'ends one key-signed token %s for whoever has it, on both servers, and no other',
    async (_whose, include, owner) => {
      const admin = (await stack.logIn('admin')).access
      const issue = () => keySignedToken(stack.auth, { username: 'alice', include })
      const [token, sister] = [await issue(), await issue()]
      const statusOf = async (one: string, { send }: TestServer, path: string) =>
        (await send(path, { headers: keySignedHeaders(one) })).status
      const ofDeals = (one: string) => statusOf(one, stack.deal, '/rest/v1/deals')
      const alive = await ofDeals(token)
      expect(alive).not.toBe(401)
      expectOAuthError(await asKey({ token }, '/oauth/revoke'), 400, 'unauthorized_client')
      expect(await ofDeals(token)).toBe(alive)
      const before = (await stack.auth.send('/audit?limit=200', { token: admin })).body.items as { seq: number }[]
      for (let time = 0; time < 2; time += 1) {
        const { status, body } = await postForm(stack, '/oauth/revoke', { token })
        expect({ status, body }).toEqual({ status: 200, body: {} })
      }
      expect(await statusOf(token, stack.auth, '/me')).toBe(401)
      await expect.poll(() => ofDeals(token), { timeout: 1000 }).toBe(401)
      expect([await ofDeals(sister), await statusOf(sister, stack.auth, '/me')]).toEqual([alive, 200])
      const { body } = await stack.auth.send(`/audit?after=${before.at(-1)?.seq}&limit=200`, { token: admin })
      expect((body.items as unknown[])[0]).toMatchObject({
        ...{ actor: owner, action: 'key-signed-token.revoked', outcome: 'succeeded', address: '127.0.0.1' },
      })
    },
  )

  it('tells that a revoked key-signed token is no longer active', async () => {
    const token = await keySignedToken(stack.auth, { username: 'alice' })
    expect((await introspect(token)).body).toMatchObject({ active: true, token_type: 'KeySigned' })
    expect((await postForm(stack, '/oauth/revoke', { token, token_type_hint: 'access_token' })).status).toBe(200)
    expect((await introspect(token)).body).toEqual({ active: false })
  })

  it('ends one token of a key at /logout too, for whoever holds it', async () => {
    const [token, sister] = [await keyToken(), await keyToken()]
    for (let round = 0; round < 2; round += 1) {
      expect((await stack.auth.send('/logout', { method: 'POST', token })).status).toBe(204)
      expectProblem(await stack.auth.send('/me', { token }), 401, 'login-ended')
    }
    await expect.poll(async () => (await deals(token)).status, { timeout: 1000 }).toBe(401)
    expect((await deals(sister)).status).toBe(200)
    const admin = (await stack.logIn('admin')).access
    const { items } = (await stack.auth.send('/audit?limit=200', { token: admin })).body
    const revoked = { action: 'token.revoked', actor: 'alice', target: decodeJwt(token).jti, outcome: 'succeeded' }
    expect(items).toContainEqual(expect.objectContaining(revoked))
  })

  it('remembers a revoked token as long as any server may take it for alive', async () => {
    const token = await keyToken()
    await asKey({ token }, '/oauth/revoke')
    const removedAfter = (seconds: number) => {
      const later = { ...stack.clock, now: () => stack.clock.now() + seconds * 1000 }
      return createEndedTokenExpiry(later).removeBatch(stack.database.drizzle, { now: '', limit: 10 })
    }
    expect(await removedAfter(1830)).toBe(0)
    expect(await removedAfter(1900)).toBeGreaterThan(0)
  })

  it('is written down: issue, refusal, revocation', async () => {
    const admin = (await stack.logIn('admin')).access
    const last = async () =>
      (await stack.auth.send('/audit?limit=200&after=0', { token: admin })).body.items as Record<string, unknown>[]
    const before = (await last()).length
    const key = await makeApiKey(stack, alice, { kind: 'hmac' })
    await keyToken({}, key)
    await postForm(stack, '/oauth/token', grantType, basicOf(key.id, 'wrong'))
    const { refresh } = await stack.logIn('alice')
    await postForm(stack, '/oauth/revoke', { token: refresh })
    const entries = (await stack.auth.send(`/audit?limit=200&after=${before}`, { token: admin })).body.items as Record<
      string,
      unknown
    >[]
    expect(
      entries.map(({ actor, action, target, outcome, scheme }) => [actor, action, target, outcome, scheme]),
    ).toEqual([
      ['alice', 'api-key.created', expect.anything(), 'succeeded', 'bearer'],
      ['alice', 'token.issued', key.id, 'succeeded', 'client_secret_basic'],
      [null, 'client.authenticated', key.id, 'invalid_client', 'client_secret_basic'],
      ['alice', 'login.started', 'alice', 'succeeded', null],
      ['alice', 'login.ended', decodeJwt(refresh).sid, 'succeeded', null],
    ])
  })

  it('ends what a disabled owner had, and takes no key of one', async () => {
    const admin = (await stack.logIn('admin')).access
    const key = await makeApiKey(stack, admin, { kind: 'hmac', username: 'dave' })
    const token = await keyToken({}, key)
    await stack.auth.send('/users/dave', { method: 'PATCH', token: admin, json: { enabled: false } })
    expect((await stack.auth.send('/me', { token })).status).toBe(401)
    expectOAuthError(await asKey(grantType, '/oauth/token', key), 401, 'invalid_client')
    await stack.auth.send('/users/dave', { method: 'PATCH', token: admin, json: { enabled: true } })
    expect((await stack.auth.send('/me', { token })).status).toBe(401)
    await keyToken({}, key)
  })

  it('says where everything is, and lists only what works', async () => {
    const { body, headers } = await stack.auth.send('/.well-known/oauth-authorization-server')
    expect(body).toMatchObject({
      issuer: stack.auth.url,
      grant_types_supported: ['refresh_token', 'client_credentials'],
      response_types_supported: [],
    })
    expect(headers.get('cache-control')).toContain('max-age=300')
    for (const endpoint of ['token_endpoint', 'revocation_endpoint', 'introspection_endpoint'])
      expect((await fetch(String(body[endpoint]), { method: 'POST' })).status).toBeLessThan(402)
    for (const document of ['jwks_uri', 'service_documentation'])
      expect((await fetch(String(body[document]))).status).toBe(200)
    expect(body.authorization_endpoint).toBeUndefined()
    expect((await stack.auth.send('/.well-known/oauth-authorization-server/nobody')).status).toBe(404)
  })
})
