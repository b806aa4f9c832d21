/** Batches: their form, their callers, and clients that go away. */
import { randomUUID } from 'node:crypto'
import { request as open } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BatchOptions, type BatchOutcome, outcomesOf, sendLines } from '../support/clients/batch-client.ts'
import { expectProblem, type Reply } from '../support/clients/http-client.ts'
import { schemeClients } from '../support/clients/scheme-clients/index.ts'
import { openSender } from '../support/clients/scheme-clients/send-with.ts'
import { type ClientKey, signUrl } from '../support/clients/signing.ts'
import { eventually } from '../support/eventually.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'

let stack: Stack
let alice: string

const batch = async (lines: readonly unknown[], options: BatchOptions = {}): Promise<BatchOutcome[]> => {
  const reply = await sendLines(stack.deal, lines, { token: alice, ...options })
  expect(reply.status, reply.text).toBe(200)
  return outcomesOf(reply)
}
const refusedWhole = (lines: readonly unknown[], options: BatchOptions = {}) =>
  sendLines(stack.deal, lines, { token: alice, ...options })
const key = () => `batch-${randomUUID()}`
const creation = (deal: string = randomUUID(), more: object = {}) => ({
  id: `create-${deal}`,
  action: 'CreateDeal',
  params: { id: deal, name: 'deal123', price: 1, ...more },
})
const creations = (count: number) => Array.from({ length: count }, () => creation())
const summary = (outcomes: readonly BatchOutcome[]) => outcomes.map(({ status, problem }) => problem?.code ?? status)
const countDeals = async (lines: readonly { readonly params: { readonly id: string } }[]) => {
  const ids = lines.map(({ params }) => params.id)
  const [row] = await stack.database.query<{ deals: number; events: number }>(
    `select (select count(*)::int from deals.deals where id = any($1::uuid[])) as deals,
       (select count(*)::int from deals.events where deal_id = any($1::uuid[])) as events`,
    [`{${ids.join(',')}}`],
  )
  return row
}

describeBackends('batches of commands', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { logLevel: 'silent' })
    alice = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())

  describe('outcomes', () => {
    it('come in the order of the lines, and a refused line spoils no other', async () => {
      const [first, second] = [randomUUID(), randomUUID()]
      const outcomes = await batch([
        creation(first),
        { id: key(), deal: first, action: 'HoldDeal', params: { reason: 'test' } },
        { id: key(), deal: randomUUID(), action: 'HoldDeal', params: { reason: 'test' } },
        creation(second.toUpperCase()),
        { id: key(), action: 'RenameDeal', params: { id: second, newName: 'by id' } },
        { id: key(), deal: first, action: 'ChangePrice', params: { newPrice: 2, reason: 'dearer' } },
      ])
      expect(outcomes.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6])
      expect(summary(outcomes)).toEqual([201, 201, 'not-found', 201, 201, 'deal-held'])
      expect(outcomes[1]?.command).toMatchObject({ deal: first, action: 'HoldDeal', state: 'succeeded' })
      const { body } = await stack.deal.send(`/rest/v1/deals/${second}`, { token: alice })
      expect(body).toMatchObject({ name: 'by id', version: 2 })
    })

    it('are replayed when the batch is sent again, whole or in part', async () => {
      const lines = creations(70)
      await batch(lines.slice(0, 30))
      const again = await batch(lines)
      expect(again.map(({ replayed }) => replayed)).toEqual(lines.map((_, index) => index < 30))
      const third = await batch(lines)
      expect(third.every(({ replayed }) => replayed)).toBe(true)
      const commands = (outcomes: typeof third) => outcomes.map(({ command }) => command)
      expect(commands(third)).toEqual(commands(again))
      expect(await countDeals(lines)).toEqual({ deals: 70, events: 70 })
    })

    it('are the same for two batches at the same time', async () => {
      const lines = creations(40)
      const both = await Promise.all([batch(lines), batch(lines)])
      expect(new Set(both.flatMap(summary))).toEqual(new Set([201]))
      expect(await countDeals(lines)).toEqual({ deals: 40, events: 40 })
    })

    it('are an array for an array, and what Accept names', async () => {
      const line = creation()
      const types = async (type: string, accept?: string) => {
        const lines = type === 'application/json' ? [JSON.stringify([line, 7])] : [line, '7']
        const headers = accept === undefined ? {} : { accept }
        const reply = await sendLines(stack.deal, lines, { token: alice, type, headers })
        return [reply.headers.get('content-type'), reply] as const
      }
      for (const [type, accept] of [['application/json'], ['application/x-ndjson', 'application/json']] as const) {
        const [contentType, { text }] = await types(type, accept)
        expect(contentType).toBe('application/json')
        expect(summary(JSON.parse(text) as BatchOutcome[])).toEqual([201, 'invalid-body'])
      }
      for (const [type, accept] of [['application/jsonl'], ['application/json', 'application/x-ndjson']] as const) {
        const [contentType, reply] = await types(type, accept)
        expect(contentType).toBe('application/x-ndjson')
        expect(summary(outcomesOf(reply))).toEqual([201, 'invalid-body'])
      }
    })

    it('show nothing of the deal to a caller without deal.read, and name the missing right', async () => {
      const bob = (await stack.logIn('bob')).access
      expect(summary(await batch([creation()], { token: bob }))).toEqual(['missing-right'])
    })
  })

  describe('options', () => {
    it('number the commands by Idempotency-Key', async () => {
      const name = key()
      const [first, second] = creations(2)
      const lines = [{ ...first, id: undefined }, { ...second }, { ...creation(), id: undefined }]
      const outcomes = await batch(lines, { headers: { 'idempotency-key': `"${name}"` } })
      expect(outcomes.map(({ id }) => id)).toEqual([`${name}.1`, second?.id, `${name}.3`])
      const again = await batch(lines, { headers: { 'idempotency-key': name } })
      expect(again.map(({ replayed }) => replayed)).toEqual([true, true, true])
    })

    it('leave out the commands with return=minimal', async () => {
      const deal = randomUUID()
      const reply = await refusedWhole([creation(deal)], { headers: { prefer: 'return=minimal' } })
      expect(reply.headers.get('preference-applied')).toBe('return=minimal')
      expect(outcomesOf(reply)).toEqual([
        { line: 1, id: `create-${deal}`, status: 201, deal, etag: '"1"', replayed: false, changed: true },
      ])
    })

    it('write nothing with validateOnly', async () => {
      const lines = creations(3)
      const reply = await refusedWhole(lines, { query: '?validateOnly=true' })
      expect(reply.headers.get('deal-validated-only')).toBe('true')
      expect(summary(outcomesOf(reply))).toEqual([201, 201, 201])
      expect(await countDeals(lines)).toEqual({ deals: 0, events: 0 })
    })

    it('hold a precondition for each line, and prefer that of the line', async () => {
      const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()]
      await batch([creation(a), creation(b), creation(c)])
      const rename = (deal: string, ifMatch?: string) => ({
        id: key(),
        deal,
        action: 'RenameDeal',
        params: { newName: 'new' },
        ...(ifMatch === undefined ? {} : { ifMatch }),
      })
      const lines = [rename(a), rename(b, '"1"'), rename(c, 'nonsense'), rename(c, 'W/"1"')]
      const outcomes = await batch(lines, { headers: { 'if-match': '"7"' } })
      expect(summary(outcomes)).toEqual(['precondition-failed', 201, 'invalid-value', 201])
      expect(outcomes[0]?.problem).toMatchObject({ status: 412, current: { id: a, version: 1 } })
    })
  })

  describe('bad lines', () => {
    it('are refused one by one', async () => {
      const { id, ...nameless } = creation()
      const repeated = creation()
      const outcomes = await batch([
        '\ufeff{"id":',
        `${JSON.stringify(repeated)}\r`,
        ' \t\r',
        '',
        '[]',
        'null',
        { ...creation(), id: 5 },
        { ...creation(), id: 'not an id' },
        nameless,
        { ...creation(), action: 'Nonsense' },
        { ...creation(), more: 1 },
        { ...creation(), deal: randomUUID() },
        { ...creation(), params: { name: 'deal', price: 1, description: 'x'.repeat(64 * 1024) } },
        { ...creation(), id: repeated.id },
        { id: key(), action: 'HoldDeal', params: {} },
        '{"id":"proto","action":"CreateDeal","params":{"__proto__":1}}',
      ])
      expect(summary(outcomes)).toEqual([
        'invalid-body',
        201,
        'invalid-body',
        'invalid-body',
        'invalid-body',
        'invalid-value',
        'invalid-body',
        'invalid-value',
        'invalid-body',
        'deal-mismatch',
        'body-too-large',
        'repeated-command-id',
        'invalid-body',
        'invalid-body',
      ])
      expect(outcomes.map(({ line }) => line)).toEqual(outcomes.map((_, index) => index + 1))
      expect(outcomes[1]?.id).toBe(repeated.id)
      expect(id).toBeDefined()
    })

    it('are refused one by one for bytes that are no UTF-8', async () => {
      const good = creation()
      const body = Buffer.concat([
        Buffer.from(`${JSON.stringify(good)}\n{"id":"`),
        Buffer.from([0xff]),
        Buffer.from('"}'),
      ])
      const headers = { 'content-type': 'application/ndjson' }
      const reply = await stack.deal.send('/commands', { token: alice, body: new Uint8Array(body), headers })
      expect(summary(outcomesOf(reply))).toEqual([201, 'invalid-body'])
    })
  })

  describe('bad batches', () => {
    const array = { type: 'application/json' }

    it.each<[string, readonly unknown[], BatchOptions, number, string]>([
      ['an empty one', [], {}, 400, 'invalid-body'],
      ['an empty array', ['[]'], array, 400, 'invalid-body'],
      ['blank lines alone', ['', ' ', '\r'], {}, 400, 'invalid-body'],
      ['an object', ['{}'], array, 400, 'invalid-body'],
      ['half an array', ['[{}'], array, 400, 'invalid-body'],
      ['another type', ['{}'], { type: 'text/csv' }, 415, 'unsupported-media-type'],
      ['another charset', ['{}'], { type: 'application/x-ndjson; charset=latin1' }, 415, 'unsupported-media-type'],
      ['a compressed body', ['{}'], { headers: { 'content-encoding': 'gzip' } }, 415, 'unsupported-media-type'],
      ['an unknown parameter', ['{}'], { query: '?page=1' }, 400, 'invalid-parameter'],
      ['a key without room', ['{}'], { headers: { 'idempotency-key': 'k'.repeat(124) } }, 400, 'invalid-parameter'],
      ['more than 4 MiB', ['x'.repeat(4 * 1024 * 1024 + 1)], {}, 413, 'body-too-large'],
      ['an array of more than 256 KiB', [JSON.stringify(['x'.repeat(256 * 1024)])], array, 413, 'body-too-large'],
    ])('refuses %s', async (_what, lines, options, status, code) => {
      expectProblem(await refusedWhole(lines, options), status, code)
    })

    it('refuses 1,001 commands before one of them runs, and takes 1,000', async () => {
      const lines = creations(1001)
      expectProblem(await refusedWhole(lines), 422, 'batch-too-large')
      expectProblem(await refusedWhole([JSON.stringify(lines)], array), 422, 'batch-too-large')
      expect(await countDeals(lines)).toEqual({ deals: 0, events: 0 })
      const outcomes = await batch(lines.slice(1), { query: '?validateOnly=true' })
      expect(outcomes).toHaveLength(1000)
    })

    it('reads no large body of a caller whom it does not know', async () => {
      const sent = open({ port: stack.deal.port, path: '/commands', method: 'POST', agent: false })
      sent.setHeader('content-type', 'application/x-ndjson')
      sent.on('error', () => undefined)
      const status = new Promise((resolve) => sent.on('response', (response) => resolve(response.statusCode)))
      // In chunks, and never to the end: the answer does not wait for it.
      sent.write('x'.repeat(512 * 1024))
      expect(await status).toBe(401)
      sent.destroy()
    })
  })

  describe('callers', () => {
    it.each(schemeClients.map((client) => [client.name, client] as const))('by %s', async (_name, client) => {
      const lines = creations(3)
      const body = lines.map((line) => JSON.stringify(line)).join('\n')
      const sendWith = await openSender(client, stack, 'alice')
      const sent = { method: 'POST', body, headers: { 'content-type': 'application/x-ndjson' } }
      const reply = await sendWith(stack.deal, { path: '/commands', sent })
      expect(summary(outcomesOf(reply))).toEqual([201, 201, 201])
      expect(await countDeals(lines)).toEqual({ deals: 3, events: 3 })
    })

    it('who send a signed batch again get what that signature did, and nothing else runs', async () => {
      const { body: made } = await stack.auth.send('/api-keys', {
        token: alice,
        json: { kind: 'hmac', name: 'batches', password: 'alice-demo-password' },
      })
      const signingKey = made as unknown as ClientKey
      const lines = [creation(), '{', creation()]
      const body = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
      const timestamp = Math.floor(stack.clock.now() / 1000)
      const url = signUrl(signingKey, { method: 'POST', url: `${stack.deal.url}/commands`, body }, { timestamp })
      const sendSigned = async (): Promise<Reply> => {
        const { pathname, search } = new URL(url)
        const headers = { 'content-type': 'application/x-ndjson' }
        return stack.deal.send(pathname + search, { method: 'POST', body, headers })
      }
      expect(summary(outcomesOf(await sendSigned()))).toEqual([201, 'invalid-body', 201])
      const again = outcomesOf(await sendSigned())
      expect(summary(again)).toEqual([201, 'signature-used', 201])
      expect(again[0]?.replayed).toBe(true)
    })

    it('who lose their right in the middle are refused the rest', async () => {
      const admin = (await stack.logIn('admin')).access
      const json = {
        username: `user-${randomUUID().slice(0, 8)}`,
        password: 'a long password of tests',
        roles: ['manager'],
      }
      expect((await stack.auth.send('/users', { token: admin, json })).status).toBe(201)
      const { access } = await stack.logIn(json.username, json.password)
      const deal = randomUUID()
      const renames = (from: number) =>
        Array.from({ length: 500 }, (_, index) => ({
          id: key(),
          deal,
          action: 'RenameDeal',
          params: { newName: `name ${from + index}` },
        }))
      const running = batch([creation(deal), ...renames(0)], { token: access })
      await eventually(async () => {
        const { body } = await stack.deal.send(`/rest/v1/deals/${deal}`, { token: alice })
        expect(Number(body.version)).toBeGreaterThan(1)
      })
      const path = `/users/${json.username}`
      await stack.auth.send(path, { token: admin, method: 'PATCH', json: { enabled: false } })
      const outcomes = await running
      const codes = summary(outcomes)
      const end = codes.indexOf('principal-disabled')
      expect(end).toBeGreaterThan(0)
      expect(new Set(codes.slice(end))).toEqual(new Set(['principal-disabled']))
      expect(outcomes.at(-1)?.problem?.schemes).toContain('bearer')
    })
  })

  describe('clients', () => {
    const begin = (lines: readonly object[]) => {
      const sent = open({ port: stack.deal.port, path: '/commands', method: 'POST', agent: false })
      sent.setHeader('content-type', 'application/x-ndjson')
      sent.setHeader('authorization', `Bearer ${alice}`)
      sent.on('error', () => undefined)
      sent.end(lines.map((line) => JSON.stringify(line)).join('\n'))
      return sent
    }

    it('who go away end the batch: what had begun is done, and the rest is done by sending it again', async () => {
      const lines = creations(500)
      const sent = begin(lines)
      await new Promise((resolve) => sent.on('response', (response) => response.once('data', resolve)))
      sent.destroy()
      await batch(creations(1))
      const afterwards = await countDeals(lines)
      expect(afterwards?.deals).toBeLessThan(500)
      expect(summary(await batch(lines)).every((status) => status === 201)).toBe(true)
      expect(await countDeals(lines)).toEqual({ deals: 500, events: 500 })
    })

    it('who stop reading hold up neither the server nor others, and the batch does not run ahead of them', async () => {
      const deal = randomUUID()
      await batch([creation(deal, { description: '\u{1f600}'.repeat(4000) })])
      // Refusals that show the whole deal: more than the connection takes at once.
      const lines = Array.from({ length: 400 }, () => ({
        id: key(),
        deal,
        action: 'RenameDeal',
        params: { newName: 'x' },
        ifMatch: '"9"',
      }))
      const pausedAt = creations(1)
      const sent = begin([...lines.slice(1), ...pausedAt])
      const response = await new Promise<import('node:http').IncomingMessage>((resolve) => sent.on('response', resolve))
      response.pause()
      expect(summary(await batch(creations(20)))).toEqual(Array(20).fill(201))
      expect(await countDeals(pausedAt)).toEqual({ deals: 0, events: 0 })
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const outcomes = outcomesOf({ text: Buffer.concat(chunks).toString() })
      expect(outcomes.map(({ line }) => line)).toEqual(lines.map((_, index) => index + 1))
      expect(outcomes.at(-1)?.status).toBe(201)
    })

    it('have at most eight batches under way', async () => {
      const begin = () => {
        const sent = open({ port: stack.deal.port, path: '/commands', method: 'POST', agent: false })
        sent.setHeader('content-type', 'application/x-ndjson')
        sent.setHeader('authorization', `Bearer ${alice}`)
        sent.on('error', () => undefined)
        sent.write('\n')
        return sent
      }
      const idle = Array.from({ length: 8 }, begin)
      await eventually(async () => {
        const reply = await refusedWhole(creations(1))
        // One of them was refused itself, when a batch of the test before had not ended.
        if (reply.status === 200) idle.push(begin())
        expectProblem(reply, 429, 'too-many-batches')
        expect(reply.headers.get('retry-after')).toBe('1')
      })
      for (const sent of idle) sent.destroy()
      await eventually(async () => expect((await refusedWhole(creations(1))).status).toBe(200))
    })
  })
})
