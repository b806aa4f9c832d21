import { createPrivateKey } from 'node:crypto'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem, rememberSecret } from '../../support/clients/http-client.ts'
import {
  assertionOf,
  basicOf,
  clientCredentials,
  expectOAuthError,
  keyTokenOf,
  type MadeKey,
  makeApiKey,
  postAsKey,
  postForm,
} from '../../support/clients/oauth-requests.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let alice: string
let hmac: MadeKey
let rsa: MadeKey

const allowHttp = { [oauth.allowInsecureRequests]: true }
const asKey = (form: Record<string, string>, key = hmac) => postAsKey(stack, key, '/oauth/token', form)
const keyToken = (form: Record<string, string> = {}, key = hmac) => keyTokenOf(stack, key, form)
const deals = (token: string) => stack.deal.send('/rest/v1/deals', { token })
const createDeal = (token: string) => stack.deal.send('/rest/v1/deals/', { token, json: { name: 'deal', price: 1 } })

describeBackends('OAuth', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    alice = (await stack.logIn('alice')).access
    hmac = await makeApiKey(stack, alice, { kind: 'hmac' })
    rsa = await makeApiKey(stack, alice, { kind: 'rsa' })
  })
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
        active: true,
        scope: 'deal.read deal.create',
        client_id: key.id,
        username: 'alice',
        token_type: 'Bearer',
      })
    },
  )

  it('lets a client find the authorization server from a refusal of the deal server (RFC 9728)', async () => {
    const origin = String(stack.environment.DEAL_PUBLIC_ORIGIN)
    const atServer = {
      ...allowHttp,
      [oauth.customFetch]: (url: string, { method, headers }: { method: string; headers: Record<string, string> }) =>
        fetch(url.replace(origin, stack.deal.url), { method, headers }),
    }
    const target = new URL(`${origin}/rest/v1/deals`)
    const refused = await oauth
      .protectedResourceRequest('not-a-token', 'GET', target, undefined, undefined, atServer)
      .catch((error: unknown) => error)
    if (!(refused instanceof oauth.WWWAuthenticateChallengeError)) throw new Error('not challenged')
    const [challenge] = refused.cause
    expect(challenge).toMatchObject({ scheme: 'bearer', parameters: { error: 'invalid_token' } })
    expect(challenge?.parameters.resource_metadata).toBe(`${origin}/.well-known/oauth-protected-resource`)
    const unchallenged = await stack.deal.send('/rest/v1/deals')
    expect(unchallenged.headers.get('www-authenticate')).toContain('resource_metadata="')

    const resource = new URL(origin)
    const response = await oauth.resourceDiscoveryRequest(resource, atServer)
    const metadata = await oauth.processResourceDiscoveryResponse(resource, response)
    expect(metadata.authorization_servers).toEqual([(await discover()).issuer])
    expect(metadata.scopes_supported).toEqual(expect.arrayContaining(['deal.read', 'deal.hold']))
    expect((await discover()).protected_resources).toEqual([metadata.resource])
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
      expectOAuthError(await asKey({ ...clientCredentials, scope }, narrow), 400, 'invalid_scope')
    const none = await makeApiKey(stack, alice, { kind: 'hmac', rights: [] })
    const { body } = await asKey(clientCredentials, none)
    expect(body.scope).toBeUndefined()
    expectProblem(await deals(String(body.access_token)), 403, 'missing-right')
  })

  it('gives no token that outlives its key', async () => {
    const expiresAt = new Date(Math.ceil(stack.clock.now() / 1000) * 1000 + 90_000).toISOString()
    const key = await makeApiKey(stack, alice, { kind: 'hmac', expiresAt })
    const { body } = await asKey(clientCredentials, key)
    expect(body.expires_in).toBeGreaterThan(80)
    expect(body.expires_in).toBeLessThanOrEqual(91)
  })

  it('takes an assertion once, for the issuer or the endpoint', async () => {
    for (const aud of [stack.auth.url, `${stack.auth.url}/oauth/token`, [stack.auth.url]]) {
      const assertion = await assertionOf(stack, rsa, { claims: { aud } })
      expect((await postForm(stack, '/oauth/token', { ...clientCredentials, ...assertion })).status).toBe(200)
      expectOAuthError(
        await postForm(stack, '/oauth/token', { ...clientCredentials, ...assertion }),
        401,
        'invalid_client',
      )
    }
    const both = await assertionOf(stack, rsa, { header: { typ: 'JWT', kid: 'of its own' } })
    const copies = await Promise.all(
      Array.from({ length: 5 }, () =>
        postForm(stack, '/oauth/token', { ...clientCredentials, ...both, client_id: rsa.id }),
      ),
    )
    expect(copies.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401])
  })

  it('is written down: issue, refusal, revocation', async () => {
    const admin = (await stack.logIn('admin')).access
    const last = async () =>
      (await stack.auth.send('/audit?limit=200&after=0', { token: admin })).body.items as Record<string, unknown>[]
    const before = (await last()).length
    const key = await makeApiKey(stack, alice, { kind: 'hmac' })
    await keyToken({}, key)
    await postForm(stack, '/oauth/token', clientCredentials, basicOf(key.id, 'wrong'))
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

  it('says where everything is, and lists only what works', async () => {
    const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
    const { body, headers } = await stack.auth.send('/.well-known/oauth-authorization-server')
    expect(body).toMatchObject({
      issuer: stack.auth.url,
      grant_types_supported: ['authorization_code', deviceGrant, 'refresh_token', 'client_credentials'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      code_challenge_methods_supported: ['S256'],
    })
    expect(headers.get('cache-control')).toContain('max-age=300')
    for (const endpoint of ['token_endpoint', 'revocation_endpoint', 'introspection_endpoint'])
      expect((await fetch(String(body[endpoint]), { method: 'POST' })).status).toBeLessThan(402)
    for (const document of ['jwks_uri', 'service_documentation'])
      expect((await fetch(String(body[document]))).status).toBe(200)
    expect((await fetch(String(body.authorization_endpoint))).status).toBe(400)
    expect((await stack.auth.send('/.well-known/oauth-authorization-server/nobody')).status).toBe(404)
  })
})
