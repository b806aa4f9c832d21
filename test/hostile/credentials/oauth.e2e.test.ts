import { createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { rememberSecret } from '../../support/clients/http-client.ts'
import {
  type AssertionChanges,
  assertionOf,
  basicOf,
  clientCredentials,
  expectOAuthError,
  type MadeKey,
  makeApiKey,
  postForm,
} from '../../support/clients/oauth-requests.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { fingerprintOfData } from '../../support/stores/data-fingerprint.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let hmac: MadeKey
let rsa: MadeKey
let other: MadeKey
let before: string

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const endpoints = ['/oauth/token', '/oauth/revoke', '/oauth/introspect']
const raw = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = form) =>
  stack.auth.send(path, { body, headers })

describeOnce('OAuth requests that cannot be accepted', (openBackend) => {
  beforeAll(async () => {
    const environment = { LOGIN_FAILURES_PER_ACCOUNT: '1000/60', LOGIN_FAILURES_PER_ADDRESS: '10000/60' }
    stack = await openStack(openBackend, { environment })
    const alice = (await stack.logIn('alice')).access
    hmac = await makeApiKey(stack, alice, { kind: 'hmac' })
    rsa = await makeApiKey(stack, alice, { kind: 'rsa' })
    other = await makeApiKey(stack, alice, { kind: 'rsa' })
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    before = await fingerprintOfData(stack.database)
  })

  const basic = () => basicOf(hmac.id, hmac.secret)

  it.each([
    ['password', { username: 'alice', password: passwordOf('alice') }],
    ['Authorization_Code', { code: 'x' }],
    ['urn:ietf:params:oauth:grant-type:jwt-bearer', { assertion: 'x' }],
    ['urn:ietf:params:oauth:grant-type:token-exchange', {}],
    ['Client_Credentials', {}],
    ['client_credentials ', {}],
    ['__proto__', {}],
  ])('refuses the grant %j, whoever asks', async (grant_type, more) => {
    for (const headers of [{}, basic()])
      expectOAuthError(
        await postForm(stack, '/oauth/token', { grant_type, ...more }, headers),
        400,
        'unsupported_grant_type',
      )
  })

  it('refuses the code grant to whoever is no application', async () => {
    for (const headers of [{}, basic()])
      expectOAuthError(
        await postForm(stack, '/oauth/token', { grant_type: 'authorization_code', code: 'x' }, headers),
        401,
        'invalid_client',
      )
  })

  it('refuses what is no form, or says something twice or in the URL', async () => {
    const bodies: [string | Uint8Array<ArrayBuffer>, Record<string, string>][] = [
      ['{"grant_type":"client_credentials"}', { 'content-type': 'application/json' }],
      ['grant_type=client_credentials', { 'content-type': 'text/plain' }],
      ['grant_type=client_credentials', { 'content-type': 'multipart/form-data; boundary=x' }],
      ['grant_type=client_credentials', { 'content-type': `${form['content-type']}; charset=utf-16` }],
      ['grant_type=client_credentials', { ...form, 'content-encoding': 'gzip' }],
      ['grant_type=client_credentials&grant_type=client_credentials', form],
      ['grant_type=client_credentials&%67rant_type=refresh_token', form],
      ['grant_type=client_credentials&x=1&x=1', form],
      ['grant_type=%zz', form],
      ['grant_type=%ff%fe', form],
      [new Uint8Array([0x67, 0x3d, 0xff]), form],
      ['', form],
      ['grant_type', form],
      ['grant_type=', form],
    ]
    for (const [body, headers] of bodies) {
      const reply = await raw('/oauth/token', body, { ...headers, ...basic() })
      expectOAuthError(reply, 400, 'invalid_request')
    }
    const inUrl = `client_secret=${hmac.secret}&client_id=${hmac.id}`
    for (const path of ['/oauth/token', '/oauth/revoke'])
      expectOAuthError(await raw(`${path}?${inUrl}`, 'grant_type=client_credentials&token=x'), 400, 'invalid_request')
    expectOAuthError(await raw(`/oauth/introspect?${inUrl}`, 'token=x'), 401, 'invalid_client')
    expectOAuthError(await raw('/oauth/revoke', 'x=1'), 400, 'invalid_request')
    expectOAuthError(await raw('/oauth/introspect', 'x=1', { ...form, ...basic() }), 400, 'invalid_request')
  })

  it('answers below /oauth in the form of OAuth, whatever is wrong', async () => {
    for (const path of endpoints) {
      expectOAuthError(await raw(path, 'a=b', { ...form, 'x-forwarded-for': '203.0.113.7' }), 403, 'invalid_request')
      expect((await stack.auth.send(path, { method: 'OPTIONS' })).status).toBe(204)
    }
    expectOAuthError(await stack.auth.send('/oauth/nothing'), 404, 'invalid_request')
    const unknown = await raw('/oauth/introspect', 'token=x')
    expectOAuthError(unknown, 401, 'invalid_client')
    expect(unknown.headers.get('www-authenticate')).toContain('Bearer')
    expectOAuthError(
      await raw('/oauth/introspect', 'token=x', { ...form, authorization: 'Bearer junk' }),
      401,
      'invalid_token',
    )
  })

  it('refuses a client that does not authenticate as it must', async () => {
    const id = hmac.id
    const wrong: [Record<string, string>, Record<string, string>][] = [
      [{}, {}],
      [{ client_id: 'keyhold' }, {}],
      [{ client_id: id }, {}],
      [{ client_id: id, client_secret: 'wrong' }, {}],
      [{ client_id: id, client_secret: `${hmac.secret} ` }, {}],
      [{ client_id: id.toUpperCase(), client_secret: hmac.secret }, {}],
      [{ client_id: randomUUID(), client_secret: hmac.secret }, {}],
      [{ client_id: 'keyhold', client_secret: hmac.secret }, {}],
      [{ client_id: 'alice', client_secret: passwordOf('alice') }, {}],
      [{ client_id: rsa.id, client_secret: 'x' }, {}],
      [{ client_id: "' or 1=1 --", client_secret: 'x\0' }, {}],
      [{}, basicOf(id, 'wrong')],
      [{}, basicOf('alice', passwordOf('alice'))],
      [{}, { authorization: 'Basic' }],
      [{}, { authorization: 'Basic !!!!' }],
      [{}, { authorization: `Basic ${Buffer.from(id).toString('base64')}` }],
      [{}, { authorization: `Basic ${Buffer.from(`${id}:%zz`).toString('base64')}` }],
      [{}, { authorization: `Basic ${Buffer.from(`${id}:ÿ`, 'latin1').toString('base64')}` }],
      [{}, { authorization: `Bearer ${hmac.secret}` }],
    ]
    for (const [parameters, headers] of wrong) {
      const reply = await postForm(stack, '/oauth/token', { ...clientCredentials, ...parameters }, headers)
      expectOAuthError(reply, 401, 'invalid_client')
      const challenge = 'authorization' in headers ? 'Basic realm="keyhold", charset="UTF-8"' : 'Bearer realm="keyhold"'
      expect(reply.headers.get('www-authenticate')).toBe(challenge)
    }
    // The client above is a script to every server: it sends Sec-Fetch-Mode.
    const lines = [
      'POST /oauth/token HTTP/1.1',
      'host: localhost',
      'connection: close',
      `content-type: ${form['content-type']}`,
    ]
    const body = new URLSearchParams(clientCredentials).toString()
    const plain = await sendRaw(stack.auth.port, [...lines, `content-length: ${body.length}`, '', body].join('\r\n'))
    expect(plain?.headers.get('www-authenticate')).toContain('Basic')
  })

  it('refuses a client that authenticates in several ways', async () => {
    const secret = { client_id: hmac.id, client_secret: hmac.secret }
    const assertion = await assertionOf(stack, rsa)
    for (const [parameters, headers] of [
      [secret, basic()],
      [{ client_id: other.id }, basic()],
      [assertion, basic()],
      [{ ...secret, ...assertion }, {}],
      [{ client_assertion: assertion.client_assertion }, {}],
      [{ client_assertion_type: assertion.client_assertion_type }, {}],
      [{ client_secret: hmac.secret }, {}],
    ] as [Record<string, string>, Record<string, string>][])
      expectOAuthError(
        await postForm(stack, '/oauth/token', { ...clientCredentials, ...parameters }, headers),
        400,
        'invalid_request',
      )
  })

  it('refuses an assertion that is not what it must be', async () => {
    const now = Math.floor(stack.clock.now() / 1000)
    const strange = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const publicPem = String(createPublicKey(rsa.privateKeyPem).export({ type: 'spki', format: 'pem' }))
    const changes: Record<string, AssertionChanges> = {
      'another audience': { claims: { aud: 'https://evil.example' } },
      'an audience that only begins like ours': { claims: { aud: `${stack.auth.url}/` } },
      'two audiences': { claims: { aud: [stack.auth.url, 'https://evil.example'] } },
      'no audience': { claims: { aud: undefined } },
      'another subject': { claims: { sub: 'alice' } },
      'no issuer': { claims: { iss: undefined } },
      'an issuer that is no key': { claims: { iss: 'keyhold', sub: 'keyhold' } },
      'an hmac key': { claims: { iss: hmac.id, sub: hmac.id } },
      'the key of another client': { claims: { iss: other.id, sub: other.id } },
      'no expiry': { claims: { exp: undefined } },
      'expiry now': { claims: { exp: now } },
      'expiry as text': { claims: { exp: String(now + 60) } },
      'expiry beyond reason': { claims: { exp: now + 7200 } },
      'issued in the future': { claims: { iat: now + 300, exp: now + 400 } },
      'not valid yet': { claims: { nbf: now + 300, exp: now + 400 } },
      'no jti': { claims: { jti: undefined } },
      'a jti that is a number': { claims: { jti: 1 } },
      'an overlong jti': { claims: { jti: 'x'.repeat(300) } },
      'another signer': { key: strange.privateKey },
      'the typ of an access token': { header: { typ: 'at+jwt' } },
      'an extension': { header: { crit: ['b64'], b64: true } },
      'its own key': { header: { jwk: strange.publicKey.export({ format: 'jwk' }) }, key: strange.privateKey },
      PS256: { header: { alg: 'PS256' } },
      RS512: { header: { alg: 'RS512' } },
      'an HMAC under the public key': { header: { alg: 'HS256' }, key: new TextEncoder().encode(publicPem) },
    }
    const expectInvalid = async (parameters: Record<string, string>, name: string) => {
      const reply = await postForm(stack, '/oauth/token', { ...clientCredentials, ...parameters })
      expect({ name, status: reply.status }).toEqual({ name, status: 401 })
      expectOAuthError(reply, 401, 'invalid_client')
    }
    for (const [name, change] of Object.entries(changes))
      await expectInvalid(await assertionOf(stack, rsa, change), name)
    const good = await assertionOf(stack, rsa)
    const [head = '', claims = ''] = good.client_assertion.split('.')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    for (const client_assertion of [
      'junk',
      'a.b.c',
      `${head}.${claims}.`,
      `${none}.${claims}.`,
      `${good.client_assertion}=`,
      'x'.repeat(9000),
    ])
      await expectInvalid({ ...good, client_assertion }, client_assertion.slice(0, 20))
    await expectInvalid(
      { ...good, client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' },
      'SAML',
    )
    await expectInvalid({ ...good, client_id: other.id }, 'client_id of another')
    expect((await postForm(stack, '/oauth/token', { ...clientCredentials, ...good })).status).toBe(200)
  })

  it('changes nothing by any of that', async () => {
    const planted = `planted-${randomUUID()}`
    rememberSecret(planted)
    for (const path of endpoints) {
      for (const name of [
        'client_secret',
        'token',
        'refresh_token',
        'client_assertion',
        'scope',
        'username',
        'grant_type',
        'token_type_hint',
      ]) {
        const reply = await postForm(
          stack,
          path,
          { [name]: planted, client_id: hmac.id },
          name === 'scope' ? basic() : {},
        )
        expect(reply.status).toBeLessThan(500)
        expect(reply.text).not.toContain(planted)
      }
    }
    expect(await fingerprintOfData(stack.database)).toBe(before)
    expect(stack.logLines.join('')).not.toContain(planted)
  })
})

describeOnce('guessing the secret of a client', (openBackend) => {
  it('is limited, tells when to come back, and is written down', async () => {
    const limited = await openStack(openBackend, { environment: { LOGIN_FAILURES_PER_ACCOUNT: '3/60' } })
    try {
      const admin = (await limited.logIn('admin')).access
      const key = await makeApiKey(limited, admin, { kind: 'hmac' })
      const guess = (secret: string) => postForm(limited, '/oauth/token', clientCredentials, basicOf(key.id, secret))
      for (let count = 0; count < 3; count += 1) expectOAuthError(await guess(`wrong ${count}`), 401, 'invalid_client')
      const refused = await guess(key.secret)
      expectOAuthError(refused, 429, 'temporarily_unavailable')
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      const { body } = await limited.auth.send('/audit?limit=200', { token: admin })
      const outcomes = (body.items as { outcome: string; target: string }[]).filter(({ target }) => target === key.id)
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['invalid_client', 'too-many-attempts'])
      // A user name in place of the id of a client locks no user out.
      const asClient = () => postForm(limited, '/oauth/token', clientCredentials, basicOf('bob', passwordOf('bob')))
      for (let count = 0; count < 4; count += 1) await asClient()
      await limited.logIn('bob')
    } finally {
      await limited.close()
    }
  })
})
