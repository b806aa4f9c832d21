/** What services that verify refuse, and how. */
import { createHash } from 'node:crypto'
import { createSigner, httpbis } from 'http-message-signatures'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply, send } from '../support/clients/http-client.ts'
import { sendRaw } from '../support/clients/raw-http.ts'
import { digestClient } from '../support/clients/scheme-clients/digest.ts'
import { keySignedHeaders, keySignedToken } from '../support/clients/scheme-clients/key-signed.ts'
import { sessionClient } from '../support/clients/scheme-clients/session.ts'
import { addInvoices, makeService } from '../support/clients/service-client.ts'
import { makeKey, signUrl } from '../support/clients/signing.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../support/worlds/stack.ts'
import { frameworks, startVerifyingServices, type VerifyingServices } from '../support/worlds/verifying-services.ts'

const invoices = 'urn:example:invoices'
const origin = 'https://invoices.test'
const json = { amount: 5 }

const basicOf = (username: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
})

describeBackends('refusals of services that verify', (openBackend) => {
  let stack: Stack
  let world: VerifyingServices

  beforeAll(async () => {
    stack = await openStack(openBackend)
    await addInvoices(stack)
    const service = await makeService(stack)
    world = await startVerifyingServices({ authServer: stack.auth.url, service, audience: 'deals', origin })
    await world.verifier.ready()
  })
  afterAll(async () => {
    await world?.close()
    await stack.close()
  })

  const urlOf = (framework: string) => world.services.find((one) => one.framework === framework)?.url ?? ''
  const now = () => Math.floor(stack.clock.now() / 1000)

  it('believe the socket of a request of Fetch, and not its URL', async () => {
    const { access } = await stack.logIn('alice')
    const request = new Request('https://invoices.test/me', { headers: { authorization: `Bearer ${access}` } })
    const clientAddress = '192.0.2.1'
    for (const end of [{ clientAddress }, { clientAddress, encrypted: false }])
      await expect(world.verifier.verify(request, end)).rejects.toMatchObject({ code: 'insecure-transport' })
    expect((await world.verifier.verify(request, { clientAddress, encrypted: true })).username).toBe('alice')
  })

  describe.each(frameworks)('on %s', (framework) => {
    const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Reply> =>
      send(urlOf(framework) + path, { method, headers })

    it('name the right that is missing', async () => {
      const { access } = await stack.logIn('admin')
      const user = { username: `guest-${framework}`, password: 'a password of a guest', roles: [] }
      await stack.auth.send('/users', { token: access, json: user })
      const { access: token } = await stack.logIn(user.username, user.password)
      const refused = await ask('/rest/v1/deals', { authorization: `Bearer ${token}` })
      expectProblem(refused, 403, 'missing-right')
      expect(refused.body).toMatchObject({ missingRight: 'deal.read', missingRights: ['deal.read'] })
      expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    })

    it.each(['hmac', 'rsa'] as const)(
      'take the %s signature of an unsafe request once, with its body',
      async (kind) => {
        const key = await makeKey(stack, 'alice', { kind })
        const body = JSON.stringify(json)
        const url = signUrl(
          key,
          { method: 'POST', url: `${urlOf(framework)}/guarded?audience=deals`, body },
          { timestamp: now() },
        )
        const headers = { 'content-type': 'application/json' }
        expectProblem(await send(url, { method: 'POST', headers, body: '{"amount":6}' }), 401, 'invalid-signature')
        const first = await send(url, { method: 'POST', headers, body })
        expect(first.status, first.text).toBe(200)
        expect(first.body).toEqual(json)
        const again = await send(url, { method: 'POST', headers, body })
        expectProblem(again, 401, 'signature-used')
        expect(again.body.serverTime).toEqual(expect.any(Number))
      },
    )

    it.each(['hmac', 'rsa'] as const)('compare the Content-Digest that a %s key has signed', async (kind) => {
      const key = await makeKey(stack, 'alice', { kind })
      const algorithm = kind === 'rsa' ? 'rsa-v1_5-sha256' : 'hmac-sha256'
      const signer = createSigner(key.privateKeyPem ?? key.secret ?? '', algorithm, key.id)
      const body = JSON.stringify(json)
      const signed = async (digested: string) => {
        const digest = createHash('sha256').update(digested).digest('base64')
        const url = `${urlOf(framework)}/guarded`
        const { headers } = await httpbis.signMessage(
          {
            key: signer,
            fields: ['@method', '@authority', '@path', 'content-digest'],
            paramValues: { created: new Date(stack.clock.now()) },
            params: ['created', 'keyid', 'alg'],
          },
          // The clients of the service see another origin than this test.
          { method: 'POST', url: `${origin}/guarded`, headers: { 'content-digest': `sha-256=:${digest}:` } },
        )
        const fields = { ...(headers as Record<string, string>), 'content-type': 'application/json' }
        return send(url, { method: 'POST', headers: fields, body })
      }
      expectProblem(await signed('another body'), 401, 'invalid-signature')
      expect((await signed(body)).body).toEqual(json)
    })

    it('refuse a handshake of WebSocket with a cookie from a page of another site', async () => {
      const open = await sessionClient.open(stack, 'alice')
      const { headers } = await open({ method: 'GET', url: '' })
      const head = `GET /me HTTP/1.1\r\nHost: a\r\nConnection: close\r\nUpgrade: websocket\r\nCookie: ${headers.cookie}\r\n`
      const shake = (of: string) => sendRaw(Number(new URL(urlOf(framework)).port), `${head}Origin: ${of}\r\n\r\n`)
      expect((await shake('https://evil.test'))?.body.code).toBe('cross-site')
      expect((await shake(origin))?.status).toBe(200)
    })

    it('do not take https: in the request line for an encrypted connection', async () => {
      const { access } = await stack.logIn('alice')
      const bytes = (scheme: string) =>
        `GET ${scheme}://invoices.test/me HTTP/1.1\r\nHost: invoices.test\r\nConnection: close\r\n` +
        `X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nAuthorization: Bearer ${access}\r\n\r\n`
      for (const scheme of ['http', 'https']) {
        const reply = await sendRaw(Number(new URL(urlOf(framework)).port), bytes(scheme))
        expect([scheme, reply?.status, reply?.body.code]).toEqual([scheme, 403, 'insecure-transport'])
      }
    })

    it('refuse a signed body that is larger than what they read', async () => {
      const key = await makeKey(stack, 'alice', { kind: 'rsa' })
      const body = JSON.stringify({ text: 'x'.repeat(1_100_000) })
      const url = signUrl(
        key,
        { method: 'POST', url: `${urlOf(framework)}/guarded?audience=deals`, body },
        { timestamp: now() },
      )
      const reply = await send(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
      expectProblem(reply, 413, 'body-too-large')
    })

    it.each([
      ['GET', '/me?signature=00&apiKey=x&timestamp=1', ''],
      ['GET', '/me?%', ''],
      ['GET', '/me?a="', 'Authorization: Digest x'],
      ['M-SEARCH', '/me', 'Authorization: Basic YTpi'],
      ['GET', '/me', `Authorization: Bearer ${'x'.repeat(9_000)}`],
      ['GET', '/me', `Authorization: Basic ${'x'.repeat(9_000)}`],
      ['GET', '/me', 'Authorization: Basic \u00ff'],
      ['GET', '/me', 'Authorization: KeySigned kst1.x.y'],
      ['GET', '/me', 'Signature: a=:AA==:'],
      ['GET', '/me', 'Cookie: keyhold_session=x; keyhold_session=y'],
    ])('answer %s %s with %s by a clear error', async (method, target, field) => {
      const bytes = `${method} ${target} HTTP/1.1\r\nHost: a\r\n${field === '' ? '' : `${field}\r\n`}Connection: close\r\n\r\n`
      const reply = await sendRaw(Number(new URL(urlOf(framework)).port), Buffer.from(bytes, 'latin1'))
      expect(reply?.status).toBeGreaterThanOrEqual(400)
      expect(reply?.status).toBeLessThan(500)
    })
  })

  describe('whatever the framework', () => {
    const service = () => world.services[0]?.url ?? ''
    const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Reply> =>
      send(service() + path, { method, headers })

    it('say what is wrong with a token', async () => {
      const refused = await ask('/me', { authorization: 'Bearer a.b.c' })
      expectProblem(refused, 401, 'invalid-token')
      expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"')
    })

    it('take a Digest response once', async () => {
      const open = await digestClient.open(stack, 'carol')
      const { url, headers } = await open({ method: 'GET', url: `${service()}/me` })
      const first = await send(url, { headers })
      expect(first.status, first.text).toBe(200)
      expect(first.headers.get('authentication-info')).toContain('rspauth="')
      expectProblem(await send(url, { headers }), 401, 'invalid-credentials')
    })

    it('refuse a cookie from a page of another site, and take it from their own', async () => {
      const open = await sessionClient.open(stack, 'alice')
      const { headers } = await open({ method: 'POST', url: '' })
      const post = (of: string) =>
        send(`${service()}/guarded`, { json, method: 'POST', headers: { ...headers, origin: of } })
      expectProblem(await post('https://evil.test'), 403, 'cross-site')
      expect((await post(origin)).status).toBe(200)
    })

    it('refuse a key-signed token without a name', async () => {
      const headers = keySignedHeaders(await keySignedToken(stack.auth, { username: 'alice', include: [] }))
      for (const [path, method] of [['/me', 'GET'] as const, ['/guarded', 'POST'] as const])
        expectProblem(await ask(path, headers, method), 403, 'missing-right')
    })
  })

  it('count wrong passwords, and refuse the right one from there too, whatever they remember', async () => {
    const service = world.services[0]?.url ?? ''
    const right = basicOf('dave', passwordOf('dave'))
    expect((await send(`${service}/me`, { headers: right })).status).toBe(200)
    const wrong = basicOf('dave', 'not the password of dave')
    const refused = await send(`${service}/me`, { headers: wrong })
    expectProblem(refused, 401, 'invalid-credentials')
    expect(refused.headers.get('www-authenticate')).toContain('Bearer realm=')
    for (let count = 0; count < 10; count += 1) await send(`${service}/me`, { headers: wrong })
    const limited = await send(`${service}/me`, { headers: wrong })
    expectProblem(limited, 429, 'too-many-attempts')
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    expectProblem(await send(`${service}/me`, { headers: right }), 429, 'too-many-attempts')
  })

  it('count wrong passwords of tokens', async () => {
    const service = world.services[0]?.url ?? ''
    const token = await keySignedToken(stack.auth, { username: 'bob', include: ['username', 'password'] })
    const of = (password?: string) => send(`${service}/me`, { headers: keySignedHeaders(token, password) })
    expectProblem(await of(), 401, 'token-password-required')
    expectProblem(await of('not the password'), 401, 'invalid-credentials')
    expect((await of(passwordOf('bob'))).status).toBe(200)
    for (let count = 0; count < 11; count += 1) await of('not the password')
    expectProblem(await of('not the password'), 429, 'too-many-attempts')
    expectProblem(await of(passwordOf('bob')), 429, 'too-many-attempts')
  })

  describe('of another resource server', () => {
    let own: VerifyingServices

    beforeAll(async () => {
      const service = await makeService(stack, 'invoices')
      own = await startVerifyingServices({
        authServer: stack.auth.url,
        service,
        audience: invoices,
        trustedProxies: '1',
        allowAnonymous: true,
      })
      await own.verifier.ready()
    })
    afterAll(() => own?.close())

    const ask = (headers: Record<string, string>) => send(`${own.services[0]?.url}/me`, { headers })
    const erin = { username: 'erin', password: passwordOf('erin') }
    const bearer = async (more: object = {}) => {
      const { body } = await stack.auth.send('/login', { json: { ...erin, ...more } })
      return { authorization: `Bearer ${body.access_token}` }
    }
    const keySigned = async (more: object = {}) => {
      const { body } = await stack.auth.send('/key-signed-tokens', { json: { ...erin, ...more } })
      const { include = [] } = more as { include?: string[] }
      return keySignedHeaders(String(body.token), include.includes('password') ? erin.password : undefined)
    }
    const session = async (more: object = {}) => {
      const reply = await stack.auth.send('/sessions', { json: { ...erin, ...more } })
      return { cookie: (reply.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '' }
    }
    const ways = { bearer, keySigned, session }

    it.each(Object.entries(ways))('tell a credential for the pair apart, by %s, and take their own', async (_, way) => {
      expectProblem(await ask(await way()), 401, 'wrong-audience')
      const { status, body, text } = await ask(await way({ resource: invoices }))
      expect(status, text).toBe(200)
      expect(body).toMatchObject({ username: 'erin', rights: ['invoice.approve', 'invoice.read'] })
    })

    it('check the password of a token for their audience', async () => {
      const more = { resource: invoices, include: ['username', 'password'] }
      const headers = await keySigned(more)
      expect(await ask(headers)).toMatchObject({ status: 200 })
      expectProblem(await ask({ ...headers, 'x-key-signed-password': 'AAAA' }), 401, 'invalid-credentials')
    })

    it('accept a token without a name where they say so, for what changes nothing', async () => {
      const headers = await keySigned({ resource: invoices, include: [] })
      expect(await ask(headers)).toMatchObject({ status: 200, body: { username: 'anonymous' } })
      const post = send(`${own.services[0]?.url}/guarded`, { method: 'POST', headers, json })
      for (const refused of [await post, await ask({ ...headers, 'sec-websocket-version': '13' })]) {
        expectProblem(refused, 403, 'missing-right')
        expect(refused.body.detail).toContain('anonymous')
      }
    })

    it('believe the proxies that they trust', async () => {
      const headers = await bearer({ resource: invoices })
      const https = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }
      expect(await ask({ ...headers, ...https })).toMatchObject({ status: 200 })
      expectProblem(await ask({ ...headers, ...https, 'x-forwarded-proto': 'http' }), 403, 'insecure-transport')
      expectProblem(
        await ask({ ...headers, ...https, 'x-real-ip': '192.0.2.2' }),
        400,
        'contradicting-forwarding-headers',
      )
    })
  })
})
