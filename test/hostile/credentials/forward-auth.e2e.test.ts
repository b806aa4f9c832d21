/** Attacks on GET /verify: whoever chooses the original request himself gets a verdict that lets another one pass. */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askVerify, type OriginalRequest, proxySettings, serviceOrigin } from '../../support/clients/ask-verify.ts'
import { expectProblem, type Reply } from '../../support/clients/http-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { keySignedHeaders, keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { type ClientKey, makeKey, signUrl } from '../../support/clients/signing.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let token: string

const bearer = () => ({ authorization: `Bearer ${token}` })

type Written = Readonly<Record<string, string | readonly string[] | undefined>>

/** A right credential, about which the fields say this. */
const ask = (written: Written = {}, original: OriginalRequest = {}): Promise<Reply> =>
  askVerify(stack.auth, { headers: bearer(), ...original }, { written })

/** The target of a signed GET. */
function signedTarget(key: ClientKey, path: string): string {
  const timestamp = Math.floor(stack.clock.now() / 1000)
  return signUrl(key, { method: 'GET', url: serviceOrigin + path }, { timestamp }).slice(serviceOrigin.length)
}

const refusals = /^(invalid-original-request|insecure-transport|untrusted-proxy)$/

const own = ['x-forwarded-method', 'x-forwarded-uri', 'x-forwarded-host', 'x-forwarded-proto']

describe.each([
  ['nobody', {}],
  ['a number of hops', { TRUST_PROXY: '1' }],
  ['another address', { TRUST_PROXY: '192.0.2.0/24,2001:db8::/32' }],
] as const)('where TRUST_PROXY names %s', (_, trust) => {
  describeOnce('GET /verify', (openBackend) => {
    beforeAll(async () => {
      stack = await openStack(openBackend, { environment: { ...trust, ALLOW_INSECURE_HTTP: 'true' } })
      token = (await stack.logIn('carol')).access
    })
    afterAll(() => stack.close())

    it('refuses every question', async () => {
      for (const written of [{}, { 'x-forwarded-for': '192.0.2.1' }, { 'x-forwarded-for': '192.0.2.1, 192.0.2.2' }]) {
        expectProblem(await ask(written), 403, 'untrusted-proxy')
        expectProblem(await askVerify(stack.auth, {}, { written }), 403, 'untrusted-proxy')
      }
      expectProblem(await stack.auth.send('/verify', { token }), 403, 'untrusted-proxy')
    })
  })
})

describeOnce('GET /verify of a trusted proxy', (openBackend) => {
  beforeAll(async () => {
    const environment = { ...proxySettings, AUTH_URL: 'http://127.0.0.1:9' }
    stack = await openStack(openBackend, { environment })
    token = (await stack.logIn('carol')).access
  })
  afterAll(() => stack.close())

  it('answers the question that the other tests change', async () => {
    expect((await ask()).status).toBe(200)
  })

  it.each(own)('refuses a question without %s, and with two of them', async (field) => {
    const right = { method: 'GET', uri: '/things', host: 'service.test', proto: 'https' }
    const value = right[field.slice('x-forwarded-'.length) as keyof typeof right]
    // The client wrote one, and the proxy added another one. Node.js would join them.
    for (const written of [undefined, [value, value], `${value}, ${value}`, '']) {
      const reply = await ask({ [field]: written })
      // Without `https` from the proxy, the transport is refused before.
      expect([reply.status, reply.body.code]).toEqual([403, expect.stringMatching(refusals)])
    }
  })

  it('refuses a question that does not name the client', async () => {
    expectProblem(await ask({ 'x-forwarded-for': undefined }), 403, 'untrusted-proxy')
    expectProblem(await ask({ 'x-forwarded-for': 'unknown' }), 403, 'untrusted-proxy')
  })

  it.each([
    'http://service.test/things',
    'https://keyhold.test/me',
    '*',
    'things',
    '?a=b',
    '/things#fragment',
    '/th ings',
    '/thïngs',
    '/a/../things',
    '/a/%2e%2e/things',
    '/a/.%2E/things',
    '/a%2f..%2fthings',
    '/a\\..\\things',
    '/./things',
    '/open/..;/things',
    '/open/.;/things',
    '/open/..;x=1/things',
    '/open/..%3Bx/things',
    '/open/%2e%2e%3b/things',
    '/open%2F..;%2Fthings',
    '/open/..;',
    '/open/.;?a=b',
    '/open/a;/..;b;c/things',
    '/open\\things',
    '/open%5Cthings',
    '/open/..%5c;/things',
    '/%74hings',
    '/thing%73?a=b',
    '/a%2Dthing',
  ])('takes no target with another spelling or form: %s', async (target) => {
    const reply = await ask({ 'x-forwarded-uri': Buffer.from(target).toString('latin1') })
    expectProblem(reply, 403, 'invalid-original-request')
  })

  it.each(['/a;x=1/b', '/a..;x', '/...;x', '/a?x=/..;/', '/a?x=\\&y=%5C', '/a%3Bb', '/.a;b', '/a;..'])(
    'takes %s, which has one meaning',
    async (target) => {
      expect((await ask({ 'x-forwarded-uri': target })).status).toBe(200)
    },
  )

  it('lets a token without a name pass for what changes nothing, where a right is demanded', async () => {
    const question = (original: OriginalRequest, query: string) => askVerify(stack.auth, original, { query })
    const admin = (await stack.logIn('admin')).access
    const grant = (rights: readonly string[]) =>
      stack.auth.send('/users/anonymous', { method: 'PATCH', token: admin, json: { rights } })
    expect((await grant(['deal.read'])).status).toBe(200)
    const headers = keySignedHeaders(await keySignedToken(stack.auth, { username: 'carol', include: [] }))
    const passed = await question({ headers }, 'right=deal.read&token=1')
    expect([passed.status, passed.headers.get('keyhold-user')]).toEqual([200, 'anonymous'])
    const again = { headers: { authorization: `Bearer ${passed.headers.get('keyhold-token')}` } }
    expect((await question(again, 'right=deal.read')).status).toBe(200)
    const upgrade = { ...headers, 'sec-websocket-version': '13' }
    for (const [original, query] of [
      [{ headers }, ''],
      [{ headers }, 'token=1'],
      [again, ''],
      [{ headers }, 'right=deal.read&right=deal.hold'],
      [{ headers, method: 'POST' }, 'right=deal.read'],
      [{ headers, method: 'DELETE' }, ''],
      [{ headers, method: 'PROPFIND' }, 'right=deal.read'],
      [{ headers: upgrade }, 'right=deal.read'],
    ] as const) {
      expectProblem(await question(original, query), 403, 'missing-right')
    }
    expect((await grant([])).status).toBe(200)
    expectProblem(await question({ headers }, 'right=deal.read'), 403, 'missing-right')
  })

  it('verifies a signature over the target as it is spelled, and no other', async () => {
    const key = await makeKey(stack, 'carol')
    const target = signedTarget(key, '/a%2Fb/c%20d?x=%2Fy')
    expect((await ask({ 'x-forwarded-uri': target }, { headers: {} })).status).toBe(200)
    for (const other of [
      target.replace('%2Fb', '/b'),
      target.replace('%2Fb', '%2fb'),
      target.replace('%20', '+'),
      target.replace('/a', '//a'),
      target.replace('/a', '/A'),
      target.replace('?', '/?'),
      target.replace('?', '?&b&'),
    ]) {
      expectProblem(await ask({ 'x-forwarded-uri': other }, { headers: {} }), 401, 'invalid-signature')
    }
  })

  it.each(['', 'GE T', 'GET,PUT', 'GET\u00e9', 'G(T', 'GET/', 'M'.repeat(33)])('takes no method %j', async (method) => {
    const reply = await ask({ 'x-forwarded-method': Buffer.from(method).toString('latin1') })
    expectProblem(reply, 403, 'invalid-original-request')
  })

  it.each([
    'service.test/things',
    'user@service.test',
    'service.test:99999',
    'service.test:port',
    'service test',
    'service.test?',
    'service.test#',
    'a:b:c',
    '[::1',
    '[zz]',
    '::1',
    '1.2.3.4.5.6.7.8.999',
    'xn--a.test',
    '\u00e9.test',
  ])('takes no host %s', async (host) => {
    const reply = await ask({ 'x-forwarded-host': Buffer.from(host).toString('latin1') })
    expectProblem(reply, 403, 'invalid-original-request')
  })

  it('takes the origin of the client for no other than it is', async () => {
    const { cookie } = await signIn(stack, 'carol')
    const post = (origin: string, host: string) =>
      askVerify(stack.auth, { method: 'POST', headers: { cookie, origin } }, { written: { 'x-forwarded-host': host } })
    expect((await post('https://service.test', 'SERVICE.test:443')).status).toBe(200)
    for (const origin of ['https://service.test:444', 'https://service.test.', 'https://service.test/', 'null', '']) {
      expectProblem(await post(origin, 'service.test'), 403, 'cross-site')
    }
  })

  it.each(['wss', 'HTTP/1.1', 'https,http', 'https, https', 'file'])('takes no protocol %s', async (scheme) => {
    const { status, body } = await ask({ 'x-forwarded-proto': scheme })
    expect([status, body.code]).toEqual([403, expect.stringMatching(refusals)])
  })

  it('refuses a client that uses plain HTTP, before it looks at the credential', async () => {
    expectProblem(await ask({ 'x-forwarded-proto': 'http' }), 403, 'insecure-transport')
    expectProblem(await ask({ 'x-forwarded-proto': 'http' }, { headers: {} }), 403, 'insecure-transport')
  })

  it('answers to a long target, and refuses one beyond all bounds', async () => {
    const long = `/${'a'.repeat(10_000)}`
    expect((await ask({ 'x-forwarded-uri': long })).status).toBe(200)
    const line = stack.logLines.findLast((one) => one.includes('"route":"/verify"')) ?? ''
    expect(line.length).toBeLessThan(2_000)
    expect((await ask({ 'x-forwarded-uri': `/${'a'.repeat(20_000)}` })).status).toBe(431)
    const rights = Array.from({ length: 10_000 }, (_, index) => `right=thing.${index}`).join('&')
    expect((await askVerify(stack.auth, { headers: bearer() }, { query: rights })).status).toBe(431)
  })

  it.each([
    'X-Forwarded-Uri: /things\r\n X-Forwarded-Method: PUT',
    'X-Forwarded-Uri: /things\rX-Forwarded-Method: PUT',
    'X-Forwarded-Uri: /things\nX-Forwarded-Method: PUT',
    'X-Forwarded-Uri: /thi\0ngs',
    'X-Forwarded-Uri : /things',
    'X-Forwarded-Uri: /things\r\nX-Forwarded-Uri: /others',
    'X_Forwarded_Uri: /things',
  ])('is not misled by %j', async (line) => {
    const fields = `X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: service.test`
    const head = `GET /verify HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n`
    const reply = await sendRaw(stack.auth.port, `${head}${fields}\r\nX-Forwarded-Method: GET\r\n${line}\r\n\r\n`, 500)
    expect([400, 403]).toContain(reply?.status)
  })

  it.each(['OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'TRACE'])(
    'gives no verdict by %s: a proxy might take any 2xx for one',
    async (by) => {
      const preflight = { origin: 'https://keyhold.test', 'access-control-request-method': 'PUT' }
      for (const headers of [{}, bearer(), preflight]) {
        const reply = await askVerify(stack.auth, { headers }, { by })
        expect([by, reply.status]).toEqual([by, 405])
        expect(reply.headers.get('allow')).toBe('GET, HEAD')
      }
    },
  )

  it('answers neither 200 nor 500 to what is no right question', async () => {
    const unit = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code))
    const text = fc.string({ unit, maxLength: 40 })
    const field = fc.constantFrom(...own)
    await fc.assert(
      fc.asyncProperty(field, text, async (name, value) => {
        const { status } = await ask({ [name]: value }, { headers: {} })
        expect([401, 403]).toContain(status)
      }),
      { numRuns: 100 },
    )
  })

  it('does not tell the service what the client says of itself', async () => {
    const lies = { 'keyhold-user': 'admin', 'keyhold-rights': 'user.manage', 'keyhold-token': 'none' }
    const reply = await ask({}, { headers: { ...bearer(), ...lies } })
    expect(reply.headers.get('keyhold-user')).toBe('carol')
    expect(reply.headers.get('keyhold-rights')).not.toContain('user.manage')
    expect(reply.headers.get('keyhold-token')).toBeNull()
  })
})
