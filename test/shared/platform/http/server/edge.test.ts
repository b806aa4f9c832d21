/** What every listener does, whatever it serves: before a request is routed, and in every answer. */
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../../shared/platform/clock.ts'
import { type Listening, listen } from '../../../../../shared/platform/http/server/listen.ts'
import { createApp, type Route } from '../../../../../shared/platform/http/server/routes.ts'
import { parseTrustedProxies, type TrustedProxies } from '../../../../../shared/platform/http/transport.ts'
import { createIdSource } from '../../../../../shared/platform/ids.ts'
import { createLog } from '../../../../../shared/platform/log/log.ts'
import { sharedProblems } from '../../../../../shared/protocol/problems/both-servers.ts'
import { pageResponse } from '../../../../../shared/server/html/page.ts'
import { expectProblem, type Reply } from '../../../../support/clients/http-client.ts'
import { sendRaw } from '../../../../support/clients/raw-http.ts'

const ids = createIdSource(systemClock)
const publicOrigins = { auth: 'https://auth.example', deal: 'https://deals.example:8443' }
let listening: Listening | undefined
let lines: string[] = []
/** Paths that a handler has seen. */
let reached: string[] = []

const route = (path: string, answer: Awaited<ReturnType<Route['handle']>>): Route => ({
  methods: ['GET', 'POST'],
  path,
  handle: (call) => {
    reached.push(call.path)
    return answer
  },
})

const routes: Route[] = [
  route('/metrics', { status: 200, headers: {}, body: 'x' }),
  route('/users/:name', { status: 200, headers: {}, body: 'x' }),
  route('/empty', { status: 204, headers: {}, body: null }),
  route('/away', { status: 303, headers: { location: '/empty' }, body: null }),
  route('/stream', { status: 200, headers: {}, body: async (stream) => void stream.write('x') }),
  {
    methods: ['GET'],
    path: '/page',
    handle: (call) => pageResponse(call, { text: '<!doctype html>', cacheControl: 'no-cache' }),
  },
]

async function serve(host = '127.0.0.1', trustProxy: TrustedProxies = { hops: 0 }): Promise<number> {
  lines = []
  reached = []
  const log = createLog({ level: 'info', format: 'json' }, { write: (line) => void lines.push(line) })
  const app = createApp({
    routes,
    problems: sharedProblems,
    schemes: [],
    clock: systemClock,
    ids,
    log,
    transport: { trustProxy, allowInsecureHttp: false },
    origin: publicOrigins.auth,
  })
  listening = await listen({
    app,
    host,
    port: 0,
    origin: publicOrigins.auth,
    publicOrigins,
    problems: sharedProblems,
    ids,
    log,
  })
  return listening.port
}

afterEach(() => listening?.drain({ lastRequestMs: 0, graceMs: 0 }))

async function ask(port: number, firstLine: string, ...fields: string[]): Promise<Reply> {
  const reply = await sendRaw(port, `${[firstLine, ...fields, 'connection: close'].join('\r\n')}\r\n\r\n`)
  if (!reply) throw new Error('no answer')
  return reply
}

const get = (port: number, target: string, ...fields: string[]) =>
  ask(port, `GET ${target} HTTP/1.1`, 'host: localhost', ...fields)

const lastLine = (): unknown => JSON.parse(lines.at(-1) ?? '{}')

describe('a target with a dot segment', () => {
  it('is refused in every spelling, reaches no route, and is logged', async () => {
    const port = await serve()
    const prefixes = [
      '/rest/..',
      '/rest/%2e%2e',
      '/rest/%2E.',
      '/rest/.%2e',
      '/.',
      '/%2e',
      '/rest/x/../..',
      '/rest%2f..',
    ]
    const encoded = ['/rest/..%2f', '/rest/..%5C', '/rest%5c..%2F', '/rest%2F%2e%2e%2F', '/rest\\..', '/rest/..\\']
    const absolute = ['http://localhost/rest/..', 'HTTP://127.0.0.1:1/rest/%2e%2E', 'http://auth.example/.']
    const targets = [...prefixes, ...encoded, ...absolute].map((prefix) => `${prefix}/metrics`)
    for (const target of [...targets, '/metrics/..', '/metrics/%2e', '/users/..', '/users/..?a=b', '/users/.#x']) {
      expectProblem(await get(port, target), 400, 'dot-segment')
      expect(lastLine()).toMatchObject({ method: 'GET', status: 400, code: 'dot-segment', address: '127.0.0.1' })
    }
    expect(reached).toEqual([])
    expect(lines.join('')).not.toContain('metrics')
  })

  it('is not found in longer segments with dots or in the query', async () => {
    const port = await serve()
    const names = ['a..b', '...', '.a', 'a.', '..%20', '%252e%252e', '..;x']
    const targets = [...names.map((name) => `/users/${name}`), '/metrics?a=/../b', '/metrics?/..', '/metrics?x/%2e%2e/']
    for (const target of targets) expect((await get(port, target)).status).toBe(200)
    expect(reached).toHaveLength(targets.length)
  })
})

describe('a target that encodes unreserved characters', () => {
  const unreserved = 'ABMNOPQXYZabmnopqxyz0189-._~'
  const hex = (character: string) => character.charCodeAt(0).toString(16)

  it('is refused for each of them, in both cases, and reaches no route', async () => {
    const port = await serve()
    for (const character of unreserved) {
      expectProblem(await get(port, `/users/x%${hex(character)}`), 400, 'encoded-unreserved')
      expectProblem(await get(port, `/users/x%${hex(character).toUpperCase()}?a`), 400, 'encoded-unreserved')
    }
    expectProblem(await get(port, 'http://localhost/%6detrics'), 400, 'encoded-unreserved')
    expect(reached).toEqual([])
  })

  it('is not found in the query, nor in what must be encoded', async () => {
    const port = await serve()
    const names = ['a?b=%41', '%20', '%25', '%2F', '%40', '%5B', '%60', '%7B', '%7F', '%C3%A9', '%2541', 'a#%41']
    for (const name of names) expect((await get(port, `/users/${name}`)).status, name).toBe(200)
    expect(reached).toHaveLength(names.length)
  })
})

describe('a request for another host', () => {
  const own = [
    'localhost',
    'LocalHost:4000',
    'localhost.',
    '127.0.0.1',
    '127.0.0.1:4000',
    '127.9.9.9',
    '[::1]',
    '[::1]:4000',
    '[0:0:0:0:0:0:0:1]:4000',
    '[::0001]',
    '[::1%25lo]:4000',
    '[::ffff:127.0.0.1]:4000',
    '[::FFFF:7f00:1]',
    '127.1',
    'auth.example',
    'AUTH.example:1',
    'deals.example:8443',
    'deals.example',
  ]
  const foreign = [
    'evil.test',
    'evil.test:4000',
    'localhost.evil.test',
    'auth.example.evil.test',
    'evilauth.example',
    'example',
    '192.168.0.1',
    '0.0.0.0',
    '[::]',
    '[::2]',
    '[::127.0.0.1]',
    '[::ffff:192.168.0.1]',
    '[fe80::1%25lo]',
    'localhost@evil.test',
    '',
    'a b',
    'evil.test/localhost',
    '127.0.0.1.nip.io',
  ]

  it('is refused on a loopback listener, and is logged', async () => {
    const port = await serve()
    for (const host of own) expect((await ask(port, 'GET /metrics HTTP/1.1', `host: ${host}`)).status).toBe(200)
    expect(reached).toHaveLength(own.length)
    for (const host of foreign) {
      const reply = await ask(port, 'GET /metrics HTTP/1.1', `host: ${host}`)
      if (host === 'a b' || host === '') expect([400, 421]).toContain(reply.status)
      else expectProblem(reply, 421, 'misdirected-request')
      if (reply.status === 421) expect(lastLine()).toMatchObject({ status: 421, code: 'misdirected-request' })
    }
    expect(reached).toHaveLength(own.length)
  })

  it('is detected by an absolute target before Host, and not in HTTP/1.0 without either', async () => {
    const port = await serve()
    const line = (target: string) => `GET ${target} HTTP/1.1`
    const served = await ask(port, line('http://localhost:1/metrics'), 'host: evil.test')
    const refused = await ask(port, line('http://evil.test/metrics'), 'host: localhost')
    expect([served.status, refused.status]).toEqual([200, 421])
    expect((await ask(port, line('http://localhost@evil.test/metrics'), 'host: localhost')).status).toBe(421)
    expect((await ask(port, 'GET /metrics HTTP/1.0')).status).toBe(200)
    expect((await ask(port, 'OPTIONS * HTTP/1.1', 'host: evil.test')).status).toBe(421)
  })

  it('is not refused on a listener that other machines reach, whose names are not known', async () => {
    const port = await serve('0.0.0.0')
    for (const host of [...own, 'evil.test', '192.168.0.1'])
      expect((await ask(port, 'GET /metrics HTTP/1.1', `host: ${host}`)).status).toBe(200)
  })
})

it('forwarding headers of a trusted proxy that contradict each other are refused on every path', async () => {
  const port = await serve('127.0.0.1', parseTrustedProxies('1'))
  const fields = ['forwarded: for=203.0.113.7', 'x-forwarded-for: 192.0.2.1']
  for (const target of ['/metrics', '/users/a', '/nowhere', '/page']) {
    expectProblem(await get(port, target, ...fields), 400, 'contradicting-forwarding-headers')
    expect(lastLine()).toMatchObject({ status: 400, code: 'contradicting-forwarding-headers', address: '127.0.0.1' })
  }
  expect(reached).toEqual([])
  expect((await get(port, '/metrics', ...fields.slice(1))).status).toBe(200)
})

describe('every answer', () => {
  const expectProtected = ({ headers }: Reply, cspOfPage?: string) => {
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(headers.get('strict-transport-security')).toBe('max-age=31536000; includeSubDomains')
    const policy = headers.get('content-security-policy') ?? ''
    for (const directive of ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"])
      expect(policy.split('; ')).toContain(directive)
    expect(headers.get('referrer-policy')).toBe(cspOfPage ? 'strict-origin' : 'no-referrer')
    expect(headers.get('cross-origin-opener-policy')).toBe(cspOfPage ? 'same-origin' : null)
  }

  it('tells browsers neither to guess its type nor to frame, run or embed it', async () => {
    const port = await serve()
    const host = 'host: localhost'
    const replies: [number, Reply][] = [
      [200, await get(port, '/metrics')],
      [200, await ask(port, 'HEAD /metrics HTTP/1.1', host)],
      [200, await get(port, '/stream')],
      [200, await ask(port, 'HEAD /stream HTTP/1.1', host)],
      [204, await get(port, '/empty')],
      [303, await get(port, '/away')],
      [404, await get(port, '/nowhere')],
      [405, await ask(port, 'DELETE /metrics HTTP/1.1', host)],
      [204, await ask(port, 'OPTIONS /metrics HTTP/1.1', host)],
      [204, await ask(port, 'OPTIONS * HTTP/1.1', host)],
      [400, await get(port, '/..')],
      [421, await ask(port, 'GET /metrics HTTP/1.1', 'host: evil.test')],
      [400, await ask(port, 'GET /metrics HTTP/1.1')],
      [400, await ask(port, 'GET /a b HTTP/1.1', host)],
      [400, await get(port, '/a\\b')],
      [400, await ask(port, 'hello')],
      [405, await ask(port, 'CONNECT a:443 HTTP/1.1', host)],
      [417, await get(port, '/metrics', 'expect: a miracle')],
      [431, await get(port, '/metrics', `x: ${'y'.repeat(17_000)}`)],
    ]
    expect(replies.map(([, { status }]) => status)).toEqual(replies.map(([status]) => status))
    for (const [, reply] of replies) expectProtected(reply)
  })

  it('is a page only with a policy of its own', async () => {
    const port = await serve()
    const page = await get(port, '/page')
    expectProtected(page, 'page')
    const unchanged = await get(port, '/page', `if-none-match: ${page.headers.get('etag')}`)
    expect(unchanged.status).toBe(304)
    expectProtected(unchanged, 'page')
  })
})
