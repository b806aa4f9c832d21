import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply, send } from '../../support/clients/http-client.ts'
import { type ClientKey, makeKey, signUrl, type Unsigned } from '../../support/clients/signing.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let keys: Record<'hmac' | 'rsa' | 'plain', ClientKey>
let nonce = 0

const now = (): number => Math.floor(stack.clock.now() / 1000)

interface Options {
  readonly key?: ClientKey
  readonly timestamp?: number
  readonly nonce?: string
  readonly binds?: boolean
  readonly headers?: Record<string, string>
}

const sendUrl = (
  url: string,
  { method, body, headers = {} }: Omit<Unsigned, 'url'> & { headers?: Record<string, string> },
) =>
  send(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  })

/** Signs a request again and sends it. */
function signed(request: Unsigned, options: Options = {}): Promise<Reply> {
  nonce += 1
  const { key = keys.hmac, headers } = options
  const url = signUrl(key, request, { timestamp: now(), nonce: String(nonce), ...options })
  return sendUrl(url, { ...request, ...(headers && { headers }) })
}

const deals = () => `${stack.deal.url}/rest/v1/deals`
const creation = () => JSON.stringify({ name: 'signed', price: 5, id: randomUUID() })

describeBackends('signed requests', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2 })
    keys = {
      hmac: await makeKey(stack, 'alice'),
      rsa: await makeKey(stack, 'alice', { kind: 'rsa' }),
      plain: await makeKey(stack, 'alice', { requireBodyHash: false }),
    }
  })
  afterAll(() => stack.close())

  it.each(['hmac', 'rsa', 'plain'] as const)('are accepted of both servers, signed with the %s key', async (name) => {
    const key = keys[name]
    const body = creation()
    const created = await signed({ method: 'POST', url: `${deals()}/`, body }, { key })
    expect(created.status, created.text).toBe(201)
    const list = await signed({ method: 'GET', url: `${deals()}?limit=200&sort=-createdAt` }, { key })
    expect(list.status, list.text).toBe(200)
    const { id } = JSON.parse(body)
    const held = await signed({ method: 'PUT', url: `${deals()}/${id}/hold`, body: '{"reason":"x"}' }, { key })
    expect(held.status, held.text).toBe(200)
    const unheld = await signed({ method: 'POST', url: `${deals()}/${id}/unhold` }, { key })
    expect(unheld.status, unheld.text).toBe(200)
    const me = await signed({ method: 'GET', url: `${stack.auth.url}/me` }, { key })
    expect(me.body).toMatchObject({ username: 'alice', scheme: 'signed-request', expiresAt: null })
  })

  it('bind body and method unless the key was made without', async () => {
    const body = creation()
    const unbound = { binds: false }
    const both = await signed({ method: 'POST', url: `${deals()}/`, body }, unbound)
    expectProblem(both, 400, 'body-hash-required')
    expect(both.body.detail).toContain('method and bodySha256')
    const removal = { method: 'DELETE', url: `${deals()}/${JSON.parse(body).id}` }
    expectProblem(await signed(removal, unbound), 400, 'signature-method-required')
    expect((await signed({ method: 'GET', url: deals() }, unbound)).status).toBe(200)
    const plain = { key: keys.plain, binds: false }
    expect((await signed({ method: 'POST', url: `${deals()}/`, body }, plain)).status).toBe(201)
    expect((await signed(removal, plain)).status).toBe(204)
  })

  describe('of an unsafe method', () => {
    it('work once, on all servers of one kind together', async () => {
      const body = creation()
      const url = signUrl(keys.hmac, { method: 'POST', url: `${deals()}/`, body }, { timestamp: now(), nonce: 'once' })
      expect((await sendUrl(url, { method: 'POST', body })).status).toBe(201)
      const [, second] = stack.deals
      for (const port of [stack.deal.port, second?.port]) {
        const again = await sendUrl(url.replace(/:\d+\//, `:${port}/`), { method: 'POST', body })
        expectProblem(again, 401, 'signature-used')
        expect(again.body.serverTime).toEqual(expect.any(Number))
      }
      const json = JSON.stringify({ kind: 'hmac', password: passwordOf('alice') })
      const made = signUrl(
        keys.hmac,
        { method: 'POST', url: `${stack.auth.url}/api-keys`, body: json },
        { timestamp: now() },
      )
      expect((await sendUrl(made, { method: 'POST', body: json })).status).toBe(201)
      expectProblem(await sendUrl(made, { method: 'POST', body: json }), 401, 'signature-used')
    })

    it.each(['{"name":"","price":1}', '{"name":', '{}', '{"name":"deal","price":1,"unknown":1}'])(
      'are used up by a request that is refused for its body %s',
      async (body) => {
        const url = signUrl(keys.hmac, { method: 'POST', url: `${deals()}/`, body }, { timestamp: now(), nonce: body })
        expect([400, 422]).toContain((await sendUrl(url, { method: 'POST', body })).status)
        expectProblem(await sendUrl(url, { method: 'POST', body }), 401, 'signature-used')
      },
    )

    it('replay the command that they were used for, and no other', async () => {
      const body = creation()
      const headers = { 'idempotency-key': randomUUID() }
      const url = signUrl(
        keys.hmac,
        { method: 'POST', url: `${deals()}/`, body },
        { timestamp: now(), nonce: 'replay' },
      )
      const first = await sendUrl(url, { method: 'POST', body, headers })
      expect(first.status).toBe(201)
      const again = await sendUrl(url, { method: 'POST', body, headers })
      expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: first.text })
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      const signedAgain = await signed({ method: 'POST', url: `${deals()}/`, body }, { headers })
      expect(signedAgain.text).toBe(first.text)
      const other = { 'idempotency-key': randomUUID() }
      stack.clock.advanceSeconds(10)
      expectProblem(await sendUrl(url, { method: 'POST', body, headers: other }), 401, 'signature-used')
      expectProblem(await sendUrl(url, { method: 'POST', body }), 401, 'signature-used')
    })

    it('replay a stored refusal too', async () => {
      const body = creation()
      await signed({ method: 'POST', url: `${deals()}/`, body })
      const url = `${stack.deal.url}/rest/v1/deals/${JSON.parse(body).id}/unhold`
      const headers = { 'idempotency-key': randomUUID() }
      await signed({
        method: 'PUT',
        url: url.replace('unhold', 'cancel'),
        body: '{"reason":"x","penaltyAmount":"0.00"}',
      })
      const bad = signUrl(
        keys.hmac,
        { method: 'PUT', url: url.replace('unhold', 'hold'), body: '{"reason":"x"}' },
        { timestamp: now() },
      )
      const first = await sendUrl(bad, { method: 'PUT', body: '{"reason":"x"}', headers })
      expect(first.status, first.text).toBe(409)
      expect((await sendUrl(bad, { method: 'PUT', body: '{"reason":"x"}', headers })).text).toBe(first.text)
    })

    it('run one of many parallel copies, on several servers, and answer all of them alike', async () => {
      const body = JSON.stringify({ name: 'parallel', price: 7 })
      const headers = { 'idempotency-key': randomUUID() }
      const request = { method: 'POST', url: `${deals()}/`, body }
      const url = signUrl(keys.hmac, request, { timestamp: now(), nonce: 'parallel' })
      const urls = Array.from({ length: 12 }, (_, index) =>
        url.replace(/:\d+\//, `:${stack.deals[index % stack.deals.length]?.port}/`),
      )
      const replies = await Promise.all(urls.map((one) => sendUrl(one, { method: 'POST', body, headers })))
      expect(replies.map(({ status }) => status)).toEqual(urls.map(() => 201))
      expect(new Set(replies.map(({ text }) => text)).size).toBe(1)
      expect(replies.filter((reply) => reply.headers.get('idempotent-replayed') === null)).toHaveLength(1)
      const without = signUrl(keys.hmac, request, { timestamp: now(), nonce: 'parallel without an id' })
      const once = await Promise.all(urls.map(() => sendUrl(without, { method: 'POST', body })))
      expect(once.filter(({ status }) => status === 201)).toHaveLength(1)
      expect(once.filter(({ body }) => body.code === 'signature-used')).toHaveLength(urls.length - 1)
    })

    it('of which the first was refused do not wait for ever', async () => {
      const body = JSON.stringify({ reason: 'x' })
      const request = { method: 'PUT', url: `${deals()}/${randomUUID()}/hold`, body }
      const headers = { 'idempotency-key': randomUUID() }
      const url = signUrl(keys.hmac, request, { timestamp: now(), nonce: 'refused' })
      expectProblem(await sendUrl(url, { method: 'PUT', body, headers }), 404, 'not-found')
      stack.clock.advanceSeconds(6)
      const started = performance.now()
      expectProblem(await sendUrl(url, { method: 'PUT', body, headers }), 401, 'signature-used')
      expect(performance.now() - started).toBeLessThan(4000)
    })
  })

  it('show when their key was last used, in the background', async () => {
    const key = await makeKey(stack, 'alice')
    await signed({ method: 'GET', url: deals() }, { key })
    const read = async () =>
      (await signed({ method: 'GET', url: `${stack.auth.url}/api-keys/${key.id}` })).body.lastUsedAt
    await expect.poll(read).toMatch(/Z$/)
  })

  it('may carry claims that are true, whatever the scheme', async () => {
    const { access } = await stack.logIn('alice')
    const ask = (query: string) => stack.deal.send(`/rest/v1/deals?${query}`, { token: access })
    expect((await ask('method=GET&nonce=5')).status).toBe(200)
    expectProblem(await ask('method=POST'), 400, 'invalid-parameter')
    expectProblem(await ask('bodySha256=00'), 400, 'invalid-parameter')
    expect((await ask('audience=deals')).status).toBe(200)
    expectProblem(await ask('audience=urn:example:invoices'), 400, 'invalid-parameter')
  })
})
