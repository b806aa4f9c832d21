import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expectProblem, type Reply, type Sent } from '../support/clients/http-client.ts'
import { sendRaw } from '../support/clients/raw-http.ts'
import { describeOnce } from '../support/stores/backends.ts'
import { fingerprintOfData } from '../support/stores/data-fingerprint.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'

let stack: Stack
let admin: string
let path: string
let before: string

const json = { 'content-type': 'application/json' }
const createDeal = (body: unknown) => stack.deal.send('/rest/v1/deals', { token: admin, json: body })
const hold = (body: unknown) => stack.deal.send(`${path}/hold`, { method: 'PUT', token: admin, json: body })

/** A request that takes a JSON body: where to, and with which body its shape would be accepted. */
type Target = readonly [server: 'auth' | 'deal', method: string, path: string, good: Readonly<Record<string, unknown>>]

const targets: readonly Target[] = [
  ['deal', 'POST', '/rest/v1/deals', { name: 'deal123', price: 1234 }],
  ['deal', 'PUT', '/rest/v1/deals/ID/hold', { reason: 'test' }],
  ['deal', 'POST', '/rest/v1/deals/ID/hold', { reason: 'test' }],
  ['deal', 'PUT', '/rest/v1/deals/ID/unhold', {}],
  ['deal', 'DELETE', '/rest/v1/deals/ID', {}],
  ['auth', 'POST', '/login', { username: 'alice', password: 'not the password of alice' }],
  ['auth', 'POST', '/users', { username: 'new-user', password: 'a good long password' }],
  ['auth', 'PATCH', '/users/bob', { roles: ['viewer'] }],
  ['auth', 'PUT', '/users/alice/password', { oldPassword: 'the old password', newPassword: 'a good long password' }],
]

const pathOf = (pattern: string): string => pattern.replace('ID', path.slice(-36))

const sendTo = ([server, method, pattern]: Target, sent: Sent): Promise<Reply> =>
  stack[server].send(pathOf(pattern), { method, token: admin, ...sent })

describeOnce('bodies that cannot be accepted', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true })
    admin = (await stack.logIn('admin')).access
    path = String((await createDeal({ name: 'deal123', price: 1234 })).headers.get('location'))
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    before = await fingerprintOfData(stack.database)
  })

  /** ProblemError with this problem, and nothing has changed. */
  const expectRefused = async (reply: Reply, status: number, code: string): Promise<void> => {
    expectProblem(reply, status, code)
    expect(await fingerprintOfData(stack.database)).toBe(before)
  }

  it('the fingerprint of the data sees a change', async () => {
    expect((await hold({ reason: randomUUID() })).status).toBe(200)
    expect(await fingerprintOfData(stack.database)).not.toBe(before)
  })

  // One reader of bodies serves all targets.
  describe.each([targets[0] as Target, targets[8] as Target])('%s server, %s %s', (...target) => {
    it.each([
      ['no JSON', '{'],
      ['half of it', '{"name":"deal123","price":'],
      ['JSON and more', '{} {}'],
      ['single quotes', "{'name':'deal123'}"],
      ['what is no number', '{"price":NaN}'],
      ['blanks', '   '],
    ])('refuses %s', async (_what, body) => {
      await expectRefused(await sendTo(target, { body, headers: json }), 400, 'invalid-body')
    })

    it('refuses a member twice, in the object itself and in one within it', async () => {
      const good = JSON.stringify(target[3]).slice(1)
      const [first] = Object.entries(target[3])
      const own = first && `{${JSON.stringify(first[0])}:${JSON.stringify(first[1])},${good}`
      for (const body of [own ?? '{"a":1,"\\u0061":2}', '{"a":[{"b":":","c":{"d":1,"d":1}}]}']) {
        const reply = await sendTo(target, { body, headers: json })
        await expectRefused(reply, 400, 'invalid-body')
        expect(reply.body.detail).toBe('The body has an object with the same member twice.')
      }
    })

    it.each([
      ['null', null],
      ['an array', []],
      ['a number', 1],
      ['a string', 'deal123'],
      ['true', true],
    ])('refuses %s instead of an object', async (_what, value) => {
      await expectRefused(await sendTo(target, { json: value }), 400, 'invalid-body')
    })

    it('refuses what is not UTF-8', async () => {
      const body = new Uint8Array([...Buffer.from('{"name":"'), 0xff, 0xfe, ...Buffer.from('"}')])
      await expectRefused(await sendTo(target, { body, headers: json }), 400, 'invalid-body')
    })

    it.each([
      ['application/x-www-form-urlencoded'],
      ['application/jsonx'],
      ['application/json; charset=latin1'],
      ['x'],
      [''],
    ])('refuses the media type %j', async (type) => {
      const sent = { body: JSON.stringify(target[3]), headers: { 'content-type': type } }
      const reply = await sendTo(target, sent)
      await expectRefused(reply, 415, 'unsupported-media-type')
      const taken = reply.headers.get('accept') ?? reply.headers.get('accept-patch')
      expect(taken?.split(', ')).toContain('application/json')
    })

    it('refuses a compressed body', async () => {
      const sent = { body: JSON.stringify(target[3]), headers: { ...json, 'content-encoding': 'gzip' } }
      const reply = await sendTo(target, sent)
      await expectRefused(reply, 415, 'unsupported-media-type')
      expect(reply.headers.get('accept-encoding')).toBe('identity')
    })
  })

  describe.each(targets)('%s server, %s %s', (...target) => {
    it.each(['unknown', '__proto__'])('refuses the unknown member %j', async (member) => {
      const rest = JSON.stringify(target[3]).slice(1)
      const body = `{${JSON.stringify(member)}:{}${rest === '}' ? '' : ','}${rest}`
      const reply = await sendTo(target, { body, headers: json })
      await expectRefused(reply, 400, 'invalid-body')
      const unknown = expect.objectContaining({ pointer: `/${member}`, code: 'unknown-member' })
      expect(reply.body.errors).toContainEqual(unknown)
    })

    it('refuses each member of a wrong type, and names it', async () => {
      for (const member of Object.keys(target[3])) {
        for (const wrong of [true, null, {}, [[]]]) {
          const reply = await sendTo(target, { json: { ...target[3], [member]: wrong } })
          await expectRefused(reply, 400, 'invalid-body')
          const [error] = reply.body.errors as { pointer: string }[]
          expect(error?.pointer).toMatch(new RegExp(`^/${member}(/\\d+)?$`))
        }
      }
    })

    it('refuses a body over 256 KiB, and where anybody may send one over 16 KiB, before it looks at the credential, its length said or not', async () => {
      const most = (target[2] === '/login' ? 16 : 256) * 1024
      const body = JSON.stringify({ ...target[3], padding: 'x'.repeat(most) })
      await expectRefused(await sendTo(target, { body, headers: json }), 413, 'body-too-large')
      await expectRefused(await sendTo(target, { token: 'junk', body, headers: json }), 413, 'body-too-large')
      const [server, method, pattern] = target
      const fields = [
        'host: localhost',
        'connection: close',
        'content-type: application/json',
        'transfer-encoding: chunked',
      ]
      const head = `${method} ${pathOf(pattern)} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`
      const chunked = await sendRaw(stack[server].port, `${head}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
      if (!chunked) throw new Error('no answer')
      await expectRefused(chunked, 413, 'body-too-large')
    })
  })

  it.each(['GET /me', 'GET /sessions', 'GET /keys', 'GET /audit', 'POST /refresh', 'POST /logout'])(
    'refuses a body over 256 KiB before anything else where none is read: %s',
    async (line) => {
      const fields = ['host: localhost', 'connection: close', 'x-forwarded-for: 203.0.113.7', 'content-length: 262145']
      const bytes = `${line} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n${'x'.repeat(262_145)}`
      const reply = await sendRaw(stack.auth.port, bytes)
      if (!reply) throw new Error('no answer')
      await expectRefused(reply, 413, 'body-too-large')
    },
  )

  it('refuses a body that a DELETE does not take, whatever it deletes', async () => {
    let seen = 0
    for (const server of ['auth', 'deal'] as const) {
      const { body: document } = await stack[server].send('/openapi.json')
      for (const [pattern, operations] of Object.entries(document.paths as Record<string, object>)) {
        if (!('delete' in operations)) continue
        const target = pattern.replace('{username}', 'bob').replace(/\{\w+\}/g, path.slice(-36))
        for (const sent of [{ json: { roles: ['viewer'] } }, { body: 'x', headers: json }]) {
          const reply = await stack[server].send(target, { token: admin, method: 'DELETE', ...sent })
          expect({ target, ...reply.body }).toMatchObject({ target, status: 400, code: 'invalid-body' })
          await expectRefused(reply, 400, 'invalid-body')
          seen += 1
        }
      }
    }
    expect(seen).toBeGreaterThanOrEqual(2 * 7)
  })

  it.each([65, 3_000, 10_000, 100_000])(
    'refuses a body of %d levels, also where nobody looks at them',
    async (depth) => {
      const levels = `${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}`
      for (const member of ['description', 'links', 'priceText']) {
        const sent = { token: admin, headers: { ...json, 'idempotency-key': randomUUID() } }
        const body = `{"name":"deal123","${member}":${levels}}`
        await expectRefused(await stack.deal.send(path, { ...sent, method: 'PATCH', body }), 400, 'invalid-body')
      }
    },
  )

  it('takes a body of 64 levels where nobody looks at them', async () => {
    const body = `{"name":"deal123","links":${'['.repeat(63)}${']'.repeat(63)}}`
    const sent = { token: admin, method: 'PATCH', headers: { ...json, 'idempotency-key': randomUUID() }, body }
    expect((await stack.deal.send(path, sent)).status).toBe(200)
  })

  it('names a hundred faults at most', async () => {
    const members = Object.fromEntries(Array.from({ length: 1_400 }, (_, index) => [`m${index}`, 1]))
    const unknown = await stack.auth.send('/login', { json: members })
    await expectRefused(unknown, 400, 'invalid-body')
    expect(unknown.body.errors).toHaveLength(100)
    const include = Array(3_000).fill('x')
    const json = { username: 'alice', password: 'not the password of alice', include }
    const ill = await stack.auth.send('/key-signed-tokens', { json })
    expectProblem(ill, 422, 'invalid-value')
    expect(ill.body.errors).toHaveLength(1)
  })

  it('names what is missing where there is no body', async () => {
    const empty = await stack.deal.send(`${path}/hold`, { token: admin, method: 'PUT' })
    await expectRefused(empty, 400, 'invalid-body')
    expect(empty.body.errors).toMatchObject([{ pointer: '/reason', code: 'missing-member' }])
  })

  it('takes JSON by any of its names', async () => {
    const body = JSON.stringify({ name: 'deal123', price: 1 })
    for (const type of ['application/json; charset=UTF-8', 'APPLICATION/JSON', 'application/vnd.keyhold+json']) {
      const sent = { token: admin, body, headers: { 'content-type': type } }
      expect((await stack.deal.send('/rest/v1/deals', sent)).status).toBe(201)
    }
  })

  it.each<[string, object, string, string]>([
    ['an empty name', { name: '' }, '/name', 'too-short'],
    ['a blank name', { name: ' \u00a0 ' }, '/name', 'too-short'],
    ['a long name', { name: '\u{1f600}'.repeat(201) }, '/name', 'too-long'],
    ['a name with a line break', { name: 'a\nb' }, '/name', 'control-character'],
    ['a name with NUL', { name: 'a\u0000b' }, '/name', 'control-character'],
    ['half of a surrogate pair', { name: 'a\ud800b' }, '/name', 'lone-surrogate'],
    ['a long description', { description: 'x'.repeat(4001) }, '/description', 'too-long'],
    ['an unknown currency', { currency: 'XXX' }, '/currency', 'unknown-currency'],
    ['a currency in lower case', { currency: 'eur' }, '/currency', 'unknown-currency'],
    ['a date that does not exist', { completionDate: '2031-02-29' }, '/completionDate', 'invalid-date'],
    ['a date out of range', { completionDate: '1999-12-31' }, '/completionDate', 'invalid-date'],
    ['a time for a date', { completionDate: '2031-02-28T00:00:00Z' }, '/completionDate', 'invalid-date'],
    ['an owner that is no user name', { ownerId: 'a b' }, '/ownerId', 'invalid-format'],
  ])('refuses %s with 422', async (_what, wrong, pointer, code) => {
    const reply = await createDeal({ name: 'deal123', price: 1234, ...wrong })
    await expectRefused(reply, 422, 'invalid-value')
    expect(reply.body.errors).toEqual([{ pointer, code, message: expect.stringMatching(/./) }])
  })

  it('takes 200 characters of any kind for a name', async () => {
    const name = '\u{1f600}'.repeat(200)
    const { status, body } = await createDeal({ name, price: 1 })
    expect({ status, name: body.name }).toEqual({ status: 201, name })
  })

  describe('money, written into the body as it stands', () => {
    const createFor = (price: string, currency = 'EUR') => {
      const body = `{"name":"deal123","price":${price},"currency":"${currency}"}`
      return stack.deal.send('/rest/v1/deals', { token: admin, body, headers: json })
    }

    it.each([
      ['1070468.14', 'EUR', 1070468.14, '1070468.14', '107046814'],
      ['999999999999.99', 'EUR', 999999999999.99, '999999999999.99', '99999999999999'],
      ['999999999999.999', 'KWD', 999999999999.999, '999999999999.999', '999999999999999'],
    ])('%s %s is exact', async (sent, currency, price, priceText, stored) => {
      const { status, body, text } = await createFor(sent, currency)
      expect({ status, price: body.price, priceText: body.priceText }).toEqual({ status: 201, price, priceText })
      expect(text).toContain(`"price":${price},`)
      const select = 'select price::text as price from deals.deals where id = $1::text::uuid'
      expect(await stack.database.query(select, [String(body.id)])).toEqual([{ price: stored }])
    })

    it.each([
      ['1e3', 'EUR', 'invalid-amount'],
      ['-0', 'EUR', 'invalid-amount'],
      ['1e400', 'EUR', 'too-big'],
      ['-1e400', 'EUR', 'too-big'],
    ])('%s %s is refused with 422', async (sent, currency, code) => {
      const reply = await createFor(sent, currency)
      await expectRefused(reply, 422, 'invalid-value')
      expect(reply.body.errors).toMatchObject([{ pointer: '/price', code }])
    })
  })
})
