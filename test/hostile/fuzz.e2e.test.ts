import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../support/campaign.ts'
import { expectProblemForm, type Reply } from '../support/clients/http-client.ts'
import { sendRaw } from '../support/clients/raw-http.ts'
import { describeOnce } from '../support/stores/backends.ts'
import { openStack, type Stack, type TestServer } from '../support/worlds/stack.ts'

let stack: Stack
let token: string
let path: string

const runs = { numRuns: campaign({ short: 50, long: 1000 }) }

/** Whatever was sent: no fault of ours, and every error is a problem document. HEAD has no body. */
const expectSane = (reply: Reply, method = 'GET'): void => {
  expect(reply.status).toBeGreaterThanOrEqual(200)
  if (reply.status < 400) return
  expect(reply.status).toBeLessThan(500)
  if (method !== 'HEAD') expectProblemForm(reply)
}

const count = async (table: string): Promise<number> => {
  const [row] = await stack.database.query<{ count: number }>(`select count(*)::int as count from ${table}`)
  return row?.count ?? 0
}

const routes = fc.constantFrom<[server: 'auth' | 'deal', method: string, path: string]>(
  ['deal', 'POST', '/rest/v1/deals'],
  ['deal', 'PUT', '/rest/v1/deals/ID/hold'],
  ['deal', 'POST', '/rest/v1/deals/ID/unhold'],
  ['deal', 'PUT', '/rest/v1/deals/ID/create'],
  ['deal', 'DELETE', '/rest/v1/deals/ID'],
  ['auth', 'POST', '/login'],
  ['auth', 'POST', '/users'],
  ['auth', 'PATCH', '/users/bob'],
  ['auth', 'PUT', '/users/bob/password'],
  ['auth', 'PUT', '/users/alice/password'],
)

/** Members that some route knows, with values that are sometimes right. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('test', 'alice', '1.5', '2031-01-01', '\u0000', '\ud800'),
)
const member = fc.oneof(
  fc.constantFrom(...'id name price currency completionDate ownerId description reason reasonCode'.split(' ')),
  fc.constantFrom(...'username password roles rights enabled newPassword oldPassword __proto__ toString'.split(' ')),
)
const value = fc.oneof(
  text,
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(text, { maxLength: 2 }),
  fc.jsonValue(),
)
const body = fc.oneof(
  fc.array(fc.tuple(member, value), { maxLength: 5 }).map((members) => JSON.stringify(Object.fromEntries(members))),
  fc.json(),
  fc.string({ unit: 'binary' }),
  fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
)

/** Bytes of a field's value but for line ends, which begin another field. */
const fieldValue = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) =>
    Buffer.from(bytes)
      .toString('latin1')
      .replace(/[\r\n]/g, ' '),
  ),
  fc.string({ maxLength: 60 }).map((value) => value.replace(/[\r\n]/g, ' ')),
  fc.constantFrom(
    '',
    '*',
    '"1"',
    'W/"1"',
    '0',
    '-1',
    'application/json',
    'Bearer',
    'Bearer ',
    '"',
    ',',
    '"a", "b"',
    'bytes=0-',
  ),
)
const fieldName = fc.constantFrom(
  ...'accept accept-encoding authorization cookie content-encoding content-type date expect from'.split(' '),
  ...'idempotency-key if-match if-none-match if-modified-since if-range origin prefer range te'.split(' '),
  ...'forwarded x-forwarded-for x-forwarded-proto x-http-method-override x-request-id traceparent user-agent'.split(
    ' ',
  ),
)

describeOnce('random requests', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    token = (await stack.logIn('alice')).access
    const { headers } = await stack.deal.send('/rest/v1/deals', { token, json: { name: 'deal123', price: 1234 } })
    path = String(headers.get('location'))
  })
  afterAll(async () => {
    expect(stack.logLines.filter((line) => line.includes('"level":50') || line.includes('"status":500'))).toEqual([])
    await stack.close()
  })

  const ask = (server: TestServer, lines: readonly string[], content = Buffer.alloc(0)) =>
    sendRaw(server.port, Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), content]), 1000)

  it('bodies: an event for each accepted command, and nothing for the rest', async () => {
    const events = await count('deals.events')
    const users = await count('auth.users')
    let changed = 0
    await fc.assert(
      fc.asyncProperty(routes, body, async ([server, method, pattern], content) => {
        const headers = { 'content-type': 'application/json' }
        const reply = await stack[server].send(pattern.replace('ID', path.slice(-36)), {
          method,
          token,
          body: content,
          headers,
        })
        expectSane(reply)
        if (reply.headers.get('deal-changed') === 'true') changed += 1
        if (server === 'auth') expect(reply.status).toBeGreaterThanOrEqual(400)
      }),
      { numRuns: campaign({ short: 150, long: 2000 }) },
    )
    expect((await count('deals.events')) - events).toBe(changed)
    expect(await count('auth.users')).toBe(users)
  })

  it('header fields', async () => {
    const fields = fc.array(fc.tuple(fieldName, fieldValue), { minLength: 1, maxLength: 4 })
    const target = fc.constantFrom<['auth' | 'deal', string]>(
      ['deal', 'GET /rest/v1/deals'],
      ['deal', 'GET DEAL'],
      ['deal', 'PUT DEAL/hold'],
      ['auth', 'GET /me'],
      ['auth', 'POST /login'],
      ['auth', 'GET /.well-known/jwks.json'],
    )
    await fc.assert(
      fc.asyncProperty(target, fields, fc.boolean(), async ([server, first], lines, withToken) => {
        const content = Buffer.from('{"reason":"test"}')
        const request = [
          `${first.replace('DEAL', path)} HTTP/1.1`,
          'host: localhost',
          'connection: close',
          `content-length: ${first.startsWith('GET') ? 0 : content.length}`,
          ...(withToken ? [`authorization: Bearer ${token}`] : []),
          ...lines.map(([name, value]) => `${name}: ${value}`),
        ]
        const reply = await ask(stack[server], request, first.startsWith('GET') ? undefined : content)
        if (!reply) throw new Error('no answer')
        if (reply.status !== 100) expectSane(reply)
      }),
      runs,
    )
  })

  it('values of Authorization: nobody gets in', async () => {
    const before = await count('deals.events')
    const junk = fc.oneof(
      fieldValue,
      fc.base64String({ maxLength: 100 }).map((credential) => `Bearer ${credential}`),
      fc.tuple(fc.base64String(), fc.base64String(), fc.base64String()).map((parts) => `Bearer ${parts.join('.')}`),
      fc
        .nat(token.length - 1)
        .map((at) => `Bearer ${token.slice(0, at)}${token[at] === 'x' ? 'y' : 'x'}${token.slice(at + 1)}`),
      fc.nat(token.length - 1).map((at) => `Bearer ${token.slice(0, at)}`),
    )
    await fc.assert(
      fc.asyncProperty(junk, fc.constantFrom('deal', 'auth'), async (authorization, server) => {
        // The last character of a signature has bits that mean nothing; a changed one must be refused all the same.
        const first = server === 'deal' ? `DELETE ${path} HTTP/1.1` : 'GET /me HTTP/1.1'
        const reply = await ask(stack[server as 'deal' | 'auth'], [
          first,
          'host: localhost',
          'connection: close',
          `authorization: ${authorization}`,
        ])
        if (!reply) throw new Error('no answer')
        expectSane(reply)
        expect([400, 401]).toContain(reply.status)
      }),
      runs,
    )
    expect(await count('deals.events')).toBe(before)
  })

  it('methods, paths and queries', async () => {
    const segment = fc.oneof(
      fc.constantFrom(
        'rest',
        'v1',
        'deals',
        'users',
        'hold',
        'alice',
        '..',
        '.',
        '%2e%2e',
        '%',
        '%00',
        '%ff',
        '',
        'me',
        'internal',
      ),
      fc.string({ maxLength: 10 }),
      fc.string({ unit: 'binary', maxLength: 10 }),
      fc.uuid(),
    )
    const clean = (part: string) =>
      Buffer.from(part, 'utf8')
        .toString('latin1')
        .replace(/[\0- \x7f]/g, '_')
    const target = fc
      .tuple(
        fc.array(segment, { maxLength: 6 }),
        fc.option(fc.string({ unit: 'binary', maxLength: 30 }), { nil: undefined }),
      )
      .map(([segments, query]) => `/${segments.map(clean).join('/')}${query === undefined ? '' : `?${clean(query)}`}`)
    const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'OPTIONS', 'TRACE', 'PURGE')
    await fc.assert(
      fc.asyncProperty(method, target, fc.constantFrom('deal', 'auth'), async (verb, url, server) => {
        const request = [
          `${verb} ${url} HTTP/1.1`,
          'host: localhost',
          'connection: close',
          `authorization: Bearer ${token}`,
        ]
        const reply = await ask(stack[server as 'deal' | 'auth'], request)
        if (!reply) throw new Error('no answer')
        expectSane(reply, verb)
      }),
      runs,
    )
  })

  it('bytes that were a request once', async () => {
    const content = '{"name":"deal123","price":1}'
    const whole = Buffer.from(
      `POST /rest/v1/deals HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\nauthorization: Bearer ${token}\r\ncontent-length: ${content.length}\r\n\r\n${content}`,
    )
    const deals = await count('deals.deals')
    let created = 0
    const edits = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(edits, async (changes) => {
        const bytes = Buffer.from(whole)
        for (const [at, byte] of changes) bytes[at] = byte
        const reply = await sendRaw(stack.deal.port, bytes, 40)
        if (reply === undefined) return
        expectSane(reply)
        if (reply.status === 201) created += 1
      }),
      runs,
    )
    expect((await count('deals.deals')) - deals).toBeGreaterThanOrEqual(created)
  })
})
