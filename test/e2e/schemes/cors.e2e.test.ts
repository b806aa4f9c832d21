import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply } from '../../support/clients/http-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

const app = 'https://app.example.com'
/** The origin of a page that calls with tokens alone. */
const spa = 'https://spa.example.com'

let stack: Stack

/** The header fields that a browser reads, by their names without the prefix. */
const corsOf = ({ headers }: Reply): Record<string, string> =>
  Object.fromEntries(
    [...headers].flatMap(([name, value]) =>
      name.startsWith('access-control-') ? [[name.slice('access-control-'.length), value]] : [],
    ),
  )

/** The names in all members `headers` of a document, apart from its components of header fields. */
function headerFieldsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'headers' && !('XRequestId' in Object(member)) ? Object.keys(Object(member)) : headerFieldsIn(member),
  )
}

const listOf = (text: string | undefined): string[] => (text ?? '').split(', ')

/** What stands in every answer to a page that is allowed. */
const allowed = (origin: string) => ({ 'allow-origin': origin, 'allow-credentials': 'true' })

describeEmbedded('scripts of other origins', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, {
      environment: { CORS_ORIGINS: `${app},http://localhost:3000`, TOKEN_ORIGINS: spa },
    })
  })
  afterAll(() => stack.close())

  const preflight = (server: 'auth' | 'deal', path: string, origin: string, method = 'PUT') =>
    stack[server].send(path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': method } })

  it('may ask for tokens from everywhere, and read deals from TOKEN_ORIGINS, never with a cookie', async () => {
    for (const origin of [spa, 'https://anybody.example', 'null']) {
      for (const path of ['/oauth/token', '/oauth/userinfo', '/oauth/par', '/oauth/revoke']) {
        const fields = corsOf(await preflight('auth', path, origin, 'POST'))
        expect(fields).toMatchObject({ 'allow-origin': origin, 'max-age': expect.any(String) })
        expect(fields).not.toHaveProperty('allow-credentials')
        expect(listOf(fields['allow-headers'])).toContain('Authorization')
      }
      for (const path of ['/login', '/sessions', '/me', '/oauth/authorize', '/oauth/introspect'])
        expect(corsOf(await preflight('auth', path, origin, 'POST'))).toEqual({})
      const ofDeals = corsOf(await preflight('deal', '/rest/v1/deals', origin, 'GET'))
      expect(ofDeals['allow-origin']).toBe(origin === spa ? spa : undefined)
      expect(ofDeals).not.toHaveProperty('allow-credentials')
    }
    const { access: token } = await stack.logIn('alice')
    const reply = await stack.deal.send('/rest/v1/deals', { token, headers: { origin: spa } })
    expect(corsOf(reply)).toMatchObject({ 'allow-origin': spa, 'expose-headers': expect.stringContaining('ETag') })
    expect(corsOf(await stack.deal.send('/rest/v1/deals', { token, headers: { origin: 'null' } }))).toEqual({})
  })

  it('learn by a preflight what a path takes', async () => {
    const paths = [
      ['auth', '/sessions', ['POST', 'GET', 'HEAD', 'OPTIONS']],
      ['auth', '/login', ['POST', 'OPTIONS']],
      ['deal', '/rest/v1/deals/0192f0c0-0000-7000-8000-000000000000/hold', ['PUT', 'POST', 'OPTIONS']],
      ['deal', '/commands/abc', ['PUT', 'GET', 'HEAD', 'OPTIONS']],
    ] as const
    for (const [server, path, methods] of paths) {
      const reply = await preflight(server, path, app)
      expect(reply.status).toBe(204)
      const fields = corsOf(reply)
      expect(fields).toMatchObject({ ...allowed(app), 'max-age': expect.stringMatching(/^\d+$/) })
      expect(listOf(fields['allow-methods']).sort()).toEqual([...methods].sort())
      expect(listOf(fields['allow-headers']).map((name) => name.toLowerCase())).toEqual(
        expect.arrayContaining([
          'authorization',
          'content-type',
          'if-match',
          'if-none-match',
          'idempotency-key',
          'prefer',
          'last-event-id',
          'x-key-signed-password',
          'signature',
          'signature-input',
          'content-digest',
          'traceparent',
          'tracestate',
          'baggage',
        ]),
      )
    }
  })

  it('may send the fields that their libraries add', async () => {
    const asked = 'b3,sentry-trace, X-Request-Id'
    const headers = { origin: app, 'access-control-request-method': 'GET', 'access-control-request-headers': asked }
    for (const [server, path] of [['auth', '/me'] as const, ['deal', '/rest/v1/deals'] as const]) {
      const names = listOf(corsOf(await stack[server].send(path, { method: 'OPTIONS', headers }))['allow-headers'])
      expect(names).toEqual(expect.arrayContaining(['b3', 'sentry-trace', 'X-Request-Id', 'Authorization']))
      const foreign = { ...headers, origin: 'https://evil.test' }
      expect(corsOf(await stack[server].send(path, { method: 'OPTIONS', headers: foreign }))).toEqual({})
    }
  })

  it('may read answers and errors, down to the fields that matter', async () => {
    const headers = { origin: app }
    const { access: token } = await stack.logIn('carol')
    const replies = [
      await stack.deal.send('/rest/v1/deals', { token, headers }),
      await stack.deal.send('/rest/v1/deals', { headers }),
      await stack.deal.send('/rest/v1/deals/none', { token, headers }),
      await stack.deal.send('/nowhere', { headers }),
      await stack.auth.send('/me', { token, headers }),
      await stack.auth.send('/login', { method: 'PATCH', headers }),
      await stack.auth.send('/sessions', { json: { username: 'carol', password: 'wrong one' }, headers }),
      await stack.auth.send('/healthz', { headers }),
    ]
    expect(replies.map(({ status }) => status)).toEqual([200, 401, 404, 404, 200, 405, 401, 200])
    for (const reply of replies) {
      const fields = corsOf(reply)
      expect(fields).toMatchObject(allowed(app))
      expect(reply.headers.get('vary')).toContain('Origin')
      expect(listOf(fields['expose-headers'])).toEqual(expect.arrayContaining(['Date', 'Authentication-Info']))
    }
  })

  it('may read every header field that the documents describe, but cookies', async () => {
    const fields = corsOf(await stack.auth.send('/healthz', { headers: { origin: app } }))
    const documents = await Promise.all([stack.auth, stack.deal].map((server) => server.send('/openapi.json')))
    const described = documents.flatMap(({ text }) => headerFieldsIn(JSON.parse(text)))
    expect(described).toContain('Idempotent-Replayed')
    expect(listOf(fields['expose-headers'])).toEqual(
      expect.arrayContaining(described.filter((name) => name !== 'Set-Cookie')),
    )
  })

  it('are refused by their browser when their origin is not named', async () => {
    const { cookie } = await signIn(stack, 'carol')
    const origins = [
      'https://evil.test',
      'https://app.example.com.evil.test',
      'http://app.example.com',
      'null',
      '*',
      '',
    ]
    for (const origin of [...origins, 'https://app.example.com:8443', 'HTTPS://APP.EXAMPLE.COM', `${app}/`]) {
      expect(corsOf(await preflight('deal', '/rest/v1/deals', origin))).toEqual({})
      expect(corsOf(await preflight('auth', '/sessions', origin))).toEqual({})
      const reply = await stack.deal.send('/rest/v1/deals', { headers: { origin, cookie } })
      expect(reply.status).toBe(200)
      expect(corsOf(reply)).toEqual({})
      expect(reply.headers.get('vary')).toContain('Origin')
    }
  })

  it('are allowed on the pages of either server', async () => {
    for (const origin of [stack.auth.url, 'http://deals.test']) {
      expect(corsOf(await preflight('deal', '/rest/v1/deals', origin, 'POST'))).toMatchObject(allowed(origin))
      expect(corsOf(await stack.auth.send('/healthz', { headers: { origin } }))).toMatchObject(allowed(origin))
    }
    // A public origin is not on loopback: what else runs on a client's own machine is no page of ours.
    for (const origin of [`http://localhost:${stack.auth.port}`, `http://127.0.0.1:${stack.deal.port}`])
      expect(corsOf(await preflight('deal', '/rest/v1/deals', origin, 'POST'))).toEqual({})
  })

  it('may all read public keys, and none of them with credentials', async () => {
    for (const origin of [app, 'https://evil.test']) {
      const reply = await stack.auth.send('/.well-known/jwks.json', { headers: { origin } })
      expect(corsOf(reply)).toEqual({ 'allow-origin': '*' })
    }
  })

  it('are not heard of where there is no origin', async () => {
    const reply = await stack.deal.send('/rest/v1/deals', { method: 'OPTIONS' })
    expect(reply.status).toBe(204)
    expect(reply.headers.get('allow')).toContain('POST')
    expect(corsOf(reply)).toEqual({})
  })

  it('may read a stream of events', async () => {
    const { access } = await stack.logIn('carol')
    const over = new AbortController()
    const response = await fetch(`${stack.deal.url}/rest/v1/events`, {
      headers: { authorization: `Bearer ${access}`, origin: app },
      signal: over.signal,
    })
    expect(response.headers.get('access-control-allow-origin')).toBe(app)
    expect(response.headers.get('vary')).toContain('Origin')
    over.abort()
  })

  describe('and what browsers send on their own', () => {
    const json = { username: 'carol', password: passwordOf('carol') }
    const form = {
      body: new URLSearchParams(json).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }
    const own = () => [
      { origin: stack.auth.url },
      { origin: 'http://deals.test' },
      { origin: app },
      { origin: stack.auth.url, 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      {},
    ]
    const foreign = () => [
      { origin: 'https://evil.test' },
      { origin: 'null' },
      { origin: '' },
      { origin: 'http://localhost:1' },
      ...['localhost', '[::1]'].map((host) => ({ origin: `http://${host}:${stack.auth.port}` })),
      { origin: `http://127.0.0.1.evil.test:${stack.auth.port}` },
      { origin: 'https://evil.test', 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]

    it('counts for pages of our own origins, and no others, at a login', async () => {
      for (const headers of own()) {
        expect((await stack.auth.send('/sessions', { json, headers })).status, JSON.stringify(headers)).toBe(201)
        const sent = { ...form, headers: { ...form.headers, ...headers } }
        expect((await stack.auth.send('/sessions', sent)).status).toBe(201)
      }
      for (const headers of foreign()) {
        for (const sent of [
          { json, headers },
          { ...form, headers: { ...form.headers, ...headers } },
        ]) {
          const reply = await stack.auth.send('/sessions', sent)
          expectProblem(reply, 403, 'cross-site')
          expect(reply.headers.getSetCookie()).toEqual([])
        }
      }
    })

    it('counts for them in commands and administration, while reading is left to the browser', async () => {
      const { cookie } = await signIn(stack, 'carol')
      const create = (headers: Record<string, string>) =>
        stack.deal.send('/rest/v1/deals', { json: { name: 'deal123', price: 1 }, headers: { cookie, ...headers } })
      for (const headers of own()) expect((await create(headers)).status, JSON.stringify(headers)).toBe(201)
      for (const headers of foreign()) {
        expectProblem(await create(headers), 403, 'cross-site')
        expectProblem(await stack.auth.send('/users', { json: {}, headers: { cookie, ...headers } }), 403, 'cross-site')
        expect((await stack.deal.send('/rest/v1/deals', { headers: { cookie, ...headers } })).status).toBe(200)
      }
    })

    it('signs nobody out from a foreign page', async () => {
      const { cookie, id, key } = await signIn(stack, 'carol')
      for (const headers of foreign()) {
        for (const which of ['current', id, key]) {
          const sent = { method: 'DELETE', headers: { cookie, ...headers } }
          expectProblem(await stack.auth.send(`/sessions/${which}`, sent), 403, 'cross-site')
          const posted = { method: 'POST', headers: { ...sent.headers, 'x-http-method-override': 'DELETE' } }
          expectProblem(await stack.auth.send(`/sessions/${which}`, posted), 403, 'cross-site')
        }
      }
      expect((await stack.auth.send('/me', { headers: { cookie } })).status).toBe(200)
    })
  })
})
