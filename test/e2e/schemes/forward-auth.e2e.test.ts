import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AddCredential,
  askVerify,
  credentialOf,
  type OriginalRequest,
  proxySettings,
  serviceOrigin,
} from '../../support/clients/ask-verify.ts'
import { expectProblem, type Reply } from '../../support/clients/http-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { schemeClients } from '../../support/clients/scheme-clients/index.ts'
import { keySignedHeaders, keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { messageSignatureClient } from '../../support/clients/scheme-clients/message-signature.ts'
import { type ClientKey, makeKey, signUrl } from '../../support/clients/signing.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

let stack: Stack
let token: string

const bearer = (access = token) => ({ authorization: `Bearer ${access}` })
const ask = (original: OriginalRequest = {}, query?: string): Promise<Reply> =>
  askVerify(stack.auth, original, query === undefined ? {} : { query })

/** The token for the service behind. */
async function tokenFor(original: OriginalRequest, query = 'token=1'): Promise<string> {
  const reply = await ask(original, query)
  expect(reply.status, reply.text).toBe(200)
  return reply.headers.get('keyhold-token') ?? ''
}

const atDeals = (access: string): Promise<Reply> => stack.deal.send('/rest/v1/deals', { token: access })

let count = 0

/** A request that is signed in its query. */
function signed(key: ClientKey, method: string, more: { body?: string; binds?: boolean; audience?: string } = {}) {
  const { body, binds, audience } = more
  count += 1
  const timestamp = Math.floor(stack.clock.now() / 1000)
  const options = { timestamp, nonce: `n${count}`, ...(binds !== undefined && { binds }) }
  const named = audience === undefined ? '' : `?audience=${audience}`
  const url = signUrl(key, { method, url: `${serviceOrigin}/things${named}`, body }, options)
  return { method, target: url.slice(serviceOrigin.length) }
}

describeOnce('GET /verify', (openBackend) => {
  beforeAll(async () => {
    const AUTH_PORT = String(await freePort())
    const environment = { ...proxySettings, AUTH_PORT, AUTH_URL: `http://127.0.0.1:${AUTH_PORT}` }
    stack = await openStack(openBackend, { environment })
    token = (await stack.logIn('carol')).access
  })
  afterAll(() => stack.close())

  describe.each(schemeClients.map((client) => [client.name, client] as const))('by %s', (scheme, client) => {
    let carol: AddCredential

    beforeAll(async () => {
      carol = await credentialOf(client, stack, 'carol')
    })

    it('lets safe and unsafe requests pass, and names the caller', async () => {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PROPFIND']) {
        const reply = await ask(await carol({ method, target: '/things/1?a=b%20c&method=list' }), 'bodyLength=0')
        // In a signed request these names are parts of the signature.
        if (scheme === 'signed-request') expectProblem(reply, 401, 'invalid-parameter')
        else expect([method, reply.status, reply.text]).toEqual([method, 200, ''])
      }
      for (const method of ['GET', 'PUT']) {
        const reply = await ask(await carol({ method, target: '/things/1?a=b%20c' }), 'bodyLength=0')
        expect(reply.status, reply.text).toBe(200)
        expect(Object.fromEntries(reply.headers)).toMatchObject({
          'keyhold-user': 'carol',
          'keyhold-user-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
          'keyhold-scheme': scheme,
          'keyhold-rights': expect.stringMatching(/^deal\.read deal\.history\.read /),
          'cache-control': 'no-store',
        })
        expect(reply.headers.get('keyhold-token')).toBeNull()
      }
    })

    it('binds what the scheme binds to the original request', async () => {
      const original = await carol({ method: 'PUT', target: '/things?a=b' })
      const isBound = scheme === 'signed-request' || scheme === 'digest'
      const elsewhere = { ...original, target: original.target?.replace('/things', '/others') ?? '' }
      expect((await ask(elsewhere, 'bodyLength=0')).status).toBe(isBound ? 401 : 200)
      const again = await carol({ method: 'PUT', target: '/things?a=b' })
      expect((await ask({ ...again, method: 'DELETE' }, 'bodyLength=0')).status).toBe(isBound ? 401 : 200)
    })

    it('gives a token of a minute for the service behind, with the rights of the caller', async () => {
      const access = await tokenFor(await carol({}))
      const { exp = 0, iat = 0, aud, sub } = decodeJwt(access)
      expect([exp - iat, aud, sub]).toEqual([60, 'deals', 'carol'])
      const listed = await atDeals(access)
      expect(listed.status, listed.text).toBe(200)
    })
  })

  it('takes a signature in header fields over the host that the client called', async () => {
    const client = await messageSignatureClient.open(stack, 'carol')
    const made = async (path: string) => (await client({ method: 'PUT', url: serviceOrigin + path })).headers
    expect((await ask({ method: 'PUT', target: '/a?b=c', headers: await made('/a?b=c') }, 'bodyLength=0')).status).toBe(
      200,
    )
    const unknown = await ask({ method: 'PUT', target: '/a?b=c', headers: await made('/a?b=c') })
    expectProblem(unknown, 401, 'body-not-forwarded')
  })

  it('challenges a request without a credential, and a script for no dialog', async () => {
    const reply = await ask()
    expectProblem(reply, 401, 'unauthenticated')
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer .*KeySigned .*Digest .*Basic /)
    const script = await ask({ headers: { 'sec-fetch-mode': 'cors' } })
    expect(script.headers.get('www-authenticate')).not.toMatch(/Digest|Basic/)
  })

  it('refuses with 401 what is 400 elsewhere', async () => {
    const key = await makeKey(stack, 'carol')
    const { target } = signed(key, 'GET')
    expectProblem(await ask({ headers: bearer(), target }), 401, 'several-credentials')
    expectProblem(
      await ask({ headers: { authorization: [`Bearer ${token}`, `Bearer ${token}`] } }),
      401,
      'several-credentials',
    )
    expectProblem(await ask({ target: `${target}&a=%26` }), 401, 'ambiguous-parameter')
    expectProblem(await ask({ target: `${target}&apiKey=b` }), 401, 'invalid-parameter')
    const password = {
      ...keySignedHeaders(await keySignedToken(stack.auth, { username: 'carol', include: ['username', 'password'] })),
    }
    expectProblem(await ask({ headers: { ...password, 'x-key-signed-password': '!' } }), 401, 'invalid-parameter')
  })

  it('accepts a bound body that the proxy passes on, and no other', async () => {
    const key = await makeKey(stack, 'carol')
    const body = '{"a":1}'
    expect((await ask({ ...signed(key, 'POST', { body }), body })).status).toBe(200)
    expectProblem(await ask({ ...signed(key, 'POST', { body }), body: '{"a":2}' }), 401, 'invalid-signature')
    expectProblem(await ask(signed(key, 'POST', { body })), 401, 'body-not-forwarded')
    expectProblem(await ask(signed(key, 'POST', { body }), `bodyLength=${body.length}`), 401, 'body-not-forwarded')
    expectProblem(await ask(signed(key, 'POST', { body }), 'bodyLength=0'), 401, 'invalid-signature')
    // Somebody may have added a body.
    expectProblem(await ask(signed(key, 'POST')), 401, 'body-not-forwarded')
    expectProblem(await ask(signed(key, 'POST'), 'bodyLength='), 401, 'body-not-forwarded')
    expectProblem(await ask({ ...signed(key, 'POST'), body }), 401, 'body-hash-required')
    expectProblem(
      await ask({ ...signed(key, 'POST', { body }), body }, 'bodyLength=9'),
      403,
      'invalid-original-request',
    )
    const plain = await makeKey(stack, 'carol', { requireBodyHash: false })
    expect((await ask(signed(plain, 'POST', { binds: false }))).status).toBe(200)
  })

  it('accepts a signature of an unsafe request once, and of a safe one again', async () => {
    const key = await makeKey(stack, 'carol')
    const original = signed(key, 'DELETE')
    expect((await ask(original, 'bodyLength=0')).status).toBe(200)
    expectProblem(await ask(original, 'bodyLength=0'), 401, 'signature-used')
    const safe = signed(key, 'GET')
    for (const _ of [1, 2]) expect((await ask(safe)).status).toBe(200)
  })

  it('refuses unsafe requests with a cookie from pages of other sites, and takes those of the service itself', async () => {
    const { cookie } = await signIn(stack, 'carol')
    const by = (headers: Record<string, string>, method = 'POST') => ask({ method, headers: { cookie, ...headers } })
    for (const foreign of [
      { origin: 'https://evil.test' },
      { origin: 'null' },
      { origin: serviceOrigin.replace('https', 'http') },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      expectProblem(await by(foreign), 403, 'cross-site')
      expect((await by(foreign, 'GET')).status).toBe(200)
    }
    for (const own of [
      { origin: serviceOrigin },
      { origin: 'https://keyhold.test' },
      { 'sec-fetch-site': 'same-origin' },
    ]) {
      expect((await by(own)).status).toBe(200)
    }
    // A method in other letters is another method, which nobody knows to be safe.
    expectProblem(await by({ origin: 'https://evil.test' }, 'get'), 403, 'cross-site')
  })

  it('demands rights', async () => {
    const original = { headers: bearer() }
    expect((await ask(original, 'right=deal.read&right=deal.hold')).status).toBe(200)
    const refused = await ask(original, 'right=deal.read&right=user.manage&right=thing.unknown')
    expectProblem(refused, 403, 'missing-right')
    expect(refused.body.missingRights).toEqual(['user.manage', 'thing.unknown'])
    expect(refused.headers.get('www-authenticate')).toMatch(/error="insufficient_scope"/)
    expect(refused.headers.get('keyhold-user')).toBeNull()
    const narrowed = await makeKey(stack, 'carol', { rights: ['deal.read'] })
    expect((await ask(signed(narrowed, 'GET'), 'right=deal.read')).headers.get('keyhold-rights')).toBe('deal.read')
    expectProblem(await ask(signed(narrowed, 'GET'), 'right=deal.hold'), 403, 'missing-right')
  })

  it('refuses a question that it does not know', async () => {
    const original = { headers: bearer() }
    const many = Array.from({ length: 33 }, (_, index) => `right=thing.${index}`).join('&')
    for (const query of [
      'right=',
      'right=a%20b',
      'token=2',
      'unknown=1',
      'resource=urn:unknown',
      'bodyLength=x',
      many,
      'token=1&token=1',
    ]) {
      expectProblem(await ask(original, query), 400, 'invalid-parameter')
    }
    expectProblem(await ask(original, 'token=1&resource=urn:unknown'), 400, 'invalid-parameter')
    expect((await ask(original, 'token=1&resource=deals')).status).toBe(200)
  })

  it('serves a resource server of its own: its rights, and tokens for its audience alone', async () => {
    const admin = (await stack.logIn('admin')).access
    const audience = 'urn:example:things'
    const rights = [{ name: 'thing.approve', description: 'Approve things.', readsOnly: false }]
    const json = { id: 'things', audience, name: 'Things', rights }
    expect((await stack.auth.send('/resource-servers', { token: admin, json })).status).toBe(201)
    const grant = (granted: readonly string[]) =>
      stack.auth.send('/users/dave', { method: 'PATCH', token: admin, json: { rights: granted } })
    expect((await grant(['thing.approve'])).status).toBe(200)
    const dave = { headers: bearer((await stack.logIn('dave')).access) }
    const query = `right=thing.approve&token=1&resource=${audience}`
    const access = await tokenFor(dave, query)
    expect(decodeJwt(access).aud).toBe(audience)
    for (const server of [stack.auth, stack.deal]) {
      const path = server === stack.auth ? '/me' : '/rest/v1/deals'
      expectProblem(await server.send(path, { token: access }), 401, 'wrong-audience')
    }
    expectProblem(await ask({ headers: bearer(access) }), 401, 'wrong-audience')
    const own = {
      headers: bearer(
        await stack.auth
          .send('/login', { json: { username: 'dave', password: passwordOf('dave'), resource: audience } })
          .then(({ body }) => String(body.access_token)),
      ),
    }
    expectProblem(await ask(own), 401, 'wrong-audience')
    for (const original of [dave, own]) {
      const reply = await ask(original, query)
      expect([reply.status, reply.headers.get('keyhold-rights')]).toEqual([200, 'thing.approve'])
      expectProblem(await ask(original, `right=deal.read&resource=${audience}`), 403, 'missing-right')
    }
    // A signature in the query says that it is for this service, so that the service can use it nowhere else.
    const key = await makeKey(stack, 'dave')
    const bySignature = (named?: string) =>
      ask(signed(key, 'GET', named === undefined ? {} : { audience: named }), `resource=${audience}`)
    for (const named of [audience, serviceOrigin]) expect((await bySignature(named)).status).toBe(200)
    expectProblem(await bySignature(), 401, 'signature-audience-required')
    expectProblem(await bySignature('deals'), 401, 'invalid-signature')
    for (const named of ['deals', serviceOrigin])
      expect((await ask(signed(key, 'GET', { audience: named }))).status).toBe(200)
    expectProblem(await ask(signed(key, 'GET', { audience })), 401, 'invalid-signature')
    expect((await grant([])).status).toBe(200)
    await withinASecond(() => ask(dave, query), { from: 200, to: 403 })
  })

  it('says in the log what was asked about, without the query, and counts as any authentication', async () => {
    const counted = async () => {
      const { text } = await stack.auth.send('/metrics')
      return Number(
        /^keyhold_authentications_total\{[^}]*scheme="signed-request",outcome="accepted"[^}]*\} (\d+)/m.exec(text)?.[1],
      )
    }
    const before = await counted()
    const key = await makeKey(stack, 'carol')
    const { target } = signed(key, 'GET')
    expect((await ask({ target })).status).toBe(200)
    const line = stack.logLines.findLast((one) => one.includes('"route":"/verify"')) ?? '{}'
    expect(JSON.parse(line)).toMatchObject({ method: 'GET', asksAbout: 'GET /things', scheme: 'signed-request' })
    expect(line).not.toContain('signature=')
    expect(await counted()).toBe(before + 1)
  })

  it('refuses a key-signed token for another address than that of the client', async () => {
    const text = await keySignedToken(stack.auth, { username: 'carol', include: ['username', 'ip'] })
    const original = { headers: keySignedHeaders(text) }
    expect((await ask(original)).status).toBe(200)
    const elsewhere = await askVerify(stack.auth, original, { written: { 'x-forwarded-for': '192.0.2.1' } })
    expectProblem(elsewhere, 401, 'invalid-token')
  })

  it('leads a browser that goes to a page to the sign-in page and back, where it sends the session cookie', async () => {
    const origin = proxySettings.AUTH_PUBLIC_ORIGIN
    const target = '/wiki/page?edit=yes'
    const headers = { 'sec-fetch-mode': 'navigate', accept: 'text/html' }
    const led = await ask({ origin, target, headers }, 'signIn=1')
    expect(led.status).toBe(303)
    expect(led.headers.get('location')).toBe(
      `${origin}/account/sign-in?return_to=${encodeURIComponent(`${origin}${target}`)}`,
    )
    const cookie = 'keyhold_session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    expect((await ask({ origin, target, headers: { ...headers, cookie } }, 'signIn=1')).status).toBe(303)
    const others: [OriginalRequest, string | undefined][] = [
      [{ origin, target, headers }, undefined],
      [{ origin, target, headers: { accept: 'text/html' } }, 'signIn=1'],
      [{ origin, target, headers, method: 'POST' }, 'signIn=1'],
      [{ target, headers }, 'signIn=1'],
      [{ origin, target, headers: { ...headers, ...bearer('no token') } }, 'signIn=1'],
    ]
    for (const [original, query] of others) expect((await ask(original, query)).status).toBe(401)
  })
})
