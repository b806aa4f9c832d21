import { createHash, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { expectProblem, expectProblemForm, type Reply, send } from '../../support/clients/http-client.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { type ClientKey, makeKey, signText, signUrl, type Unsigned } from '../../support/clients/signing.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let key: ClientKey
let plain: ClientKey
let nonce = 0

const now = (): number => Math.floor(stack.clock.now() / 1000)
const deals = (): string => `${stack.deal.url}/rest/v1/deals`

/** A signed URL that an attacker has got hold of before it was used. */
const sign = (request: Unsigned, by = key, binds = true): string => {
  nonce += 1
  return signUrl(by, request, { timestamp: now(), nonce: String(nonce), binds })
}

const ask = (url: string, method = 'GET', body?: string): Promise<Reply> =>
  send(url, { method, headers: { 'content-type': 'application/json' }, ...(body === undefined ? {} : { body }) })

/** Sends a target as it is, which `fetch` would not. */
async function askRaw(url: string, method: string, change: (target: string) => string): Promise<Reply> {
  const { pathname, search, port } = new URL(url)
  const head = `${method} ${change(pathname + search)} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`
  const reply = await sendRaw(Number(port), head)
  if (!reply) throw new Error('no answer')
  return reply
}

async function makeDeal(): Promise<string> {
  const body = JSON.stringify({ name: 'target', price: 1 })
  const { status, body: deal, text } = await ask(sign({ method: 'POST', url: `${deals()}/`, body }), 'POST', body)
  if (status !== 201) throw new Error(text)
  return `${deals()}/${deal.id}`
}

const readVersion = async (url: string): Promise<unknown> => (await ask(sign({ method: 'GET', url }))).body.version

describeOnce('signed requests that somebody else gets hold of', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    key = await makeKey(stack, 'alice')
    plain = await makeKey(stack, 'alice', { requireBodyHash: false })
  })
  afterAll(() => stack.close())

  it('cannot be made to mean something else by the case of letters', async () => {
    const deal = await makeDeal()
    const request = { method: 'PUT', url: `${deal}/hold?validateOnly=true`, body: '{"reason":"x"}' }
    const url = sign(request)
    expectProblem(await ask(url.replace('validateOnly', 'validateonly'), 'PUT', request.body), 400, 'invalid-parameter')
    expect(await readVersion(deal)).toBe(1)
    const collision = `${sign(request)}&VALIDATEONLY=false`
    expectProblem(await ask(collision, 'PUT', request.body), 400, 'ambiguous-parameter')
  })

  it.each([
    ['a dot segment', (target: string) => target.replace('/hold', '/./hold'), [400]],
    ['a segment that goes up', (target: string) => target.replace('/hold', '/x/../hold'), [400]],
    ['two slashes', (target: string) => target.replace('/hold', '//hold')],
    ['a slash at the end', (target: string) => target.replace('/hold?', '/hold/?')],
    ['an encoded letter', (target: string) => target.replace('/hold', '/%68old'), [400]],
    ['capitals', (target: string) => target.replace('/rest', '/REST')],
    ['a path parameter', (target: string) => target.replace('/hold', ';a/hold')],
  ])('are good for the path as it was signed only, not with %s', async (_, change, statuses = [401, 404]) => {
    const deal = await makeDeal()
    const url = sign({ method: 'POST', url: `${deal}/hold` })
    const reply = await askRaw(url, 'POST', change)
    expect(statuses).toContain(reply.status)
    expect(await readVersion(deal)).toBe(1)
  })

  it('bind what they say they bind under every key', async () => {
    const deal = await makeDeal()
    const hold = sign({ method: 'PUT', url: `${deal}/hold`, body: '{"reason":"x"}' }, plain)
    expectProblem(await ask(hold, 'PUT', '{"reason":"y"}'), 401, 'invalid-signature')
    expectProblem(await ask(hold, 'POST', '{"reason":"x"}'), 401, 'invalid-signature')
    expectProblem(
      await ask(hold.replace(/&bodySha256=[0-9a-f]+/, ''), 'PUT', '{"reason":"y"}'),
      401,
      'invalid-signature',
    )
    expect((await ask(hold, 'PUT', '{"reason":"x"}')).status).toBe(200)
  })

  it('do not run beside a command id that is taken, nor after it was refused', async () => {
    const deal = await makeDeal()
    const body = '{"title":"once"}'
    const url = sign({ method: 'POST', url: `${deal}/tasks`, body })
    const withId = (id: string) =>
      send(url, { method: 'POST', body, headers: { 'content-type': 'application/json', 'idempotency-key': id } })
    const id = randomUUID()
    const first = await withId(id)
    expect(first.status, first.text).toBeLessThan(300)
    const other = sign({ method: 'POST', url: `${deal}/tasks`, body: '{"title":"other"}' })
    const taken = { 'content-type': 'application/json', 'idempotency-key': id }
    expectProblem(
      await send(other, { method: 'POST', body: '{"title":"other"}', headers: taken }),
      422,
      'command-id-reused',
    )
    expectProblem(
      await send(other, { method: 'POST', body: '{"title":"other"}', headers: taken }),
      401,
      'signature-used',
    )
    expect(await readVersion(deal)).toBe(2)
  })

  it('say nothing of what they were signed with', async () => {
    const url = sign({ method: 'GET', url: `${deals()}?limit=1` })
    const created = await ask(
      sign({ method: 'POST', url: `${deals()}/`, body: '{"name":"a","price":1}' }),
      'POST',
      '{"name":"a","price":1}',
    )
    const id = randomUUID()
    const put = `${deals()}/${created.body.id}/commands/${id}`
    const body = '{"action":"HoldDeal","params":{"reason":"x"}}'
    await ask(sign({ method: 'PUT', url: put, body }), 'PUT', body)
    const replies = [
      await ask(url),
      await ask(sign({ method: 'GET', url: put })),
      await ask(url.replace('limit=1', 'limit=2')),
    ]
    const digests = await stack.database.query<{ signature: string }>(
      'select signature from deals.used_signatures union select signature from deals.commands where signature is not null',
    )
    expect(digests.length).toBeGreaterThan(1)
    for (const reply of replies) {
      const all = reply.text + JSON.stringify([...reply.headers])
      expect(all).not.toContain(new URL(url).searchParams.get('signature'))
      for (const { signature } of digests) expect(all).not.toContain(signature)
    }
    expect(replies[0]?.headers.get('link')).not.toMatch(/signature|apiKey|timestamp/i)
  })

  it('with any character changed are refused or mean the same', async () => {
    const url = new URL(sign({ method: 'GET', url: `${deals()}?q=a+b&limit=5&sort=-name` }))
    const meaningOf = (query: string) =>
      [...new URLSearchParams(query)]
        .map(([name, value]) => `${name.toLowerCase()}=${name === 'signature' ? value.toLowerCase() : value}`)
        .sort()
        .join('&')
    const query = url.search.slice(1)
    await fc.assert(
      fc.asyncProperty(
        fc.nat(query.length - 1),
        fc.constantFrom('a', 'A', '0', '&', '=', '%', '+', '%26', '%00', '~'),
        async (at, char) => {
          const changed = query.slice(0, at) + char + query.slice(at + 1)
          const reply = await askRaw(url.href, 'GET', () => `${url.pathname}?${changed}`)
          if (reply.status === 200) expect(meaningOf(changed)).toBe(meaningOf(query))
          else {
            expect(reply.status).toBeLessThan(500)
            expectProblemForm(reply)
          }
        },
      ),
      { numRuns: campaign({ short: 50, long: 1000 }) },
    )
  })

  describe('in header fields', () => {
    const digestOf = (body: string) => createHash('sha256').update(body).digest('base64')
    const fields = (target: string, input: string, lines: readonly string[]) => {
      const parameters = `${input};created=${now()};keyid="${key.id}"`
      const base = [...lines, `"@signature-params": ${parameters}`].join('\n')
      const signature = Buffer.from(signText(key, base), 'hex').toString('base64')
      return { target, 'signature-input': `s=${parameters}`, signature: `s=:${signature}:` }
    }

    it('are not good for a body whose digest is not covered, or not right', async () => {
      const path = '/rest/v1/deals/'
      const body = '{"name":"a","price":1}'
      const lines = ['"@method": POST', `"@path": ${path}`]
      const { target: _, ...uncovered } = fields(path, '("@method" "@path")', lines)
      const post = (headers: Record<string, string>) =>
        send(stack.deal.url + path, {
          method: 'POST',
          body,
          headers: { 'content-type': 'application/json', ...headers },
        })
      const digest = `sha-256=:${digestOf(body)}:`
      expectProblem(await post(uncovered), 400, 'body-hash-required')
      expectProblem(await post({ ...uncovered, 'content-digest': digest }), 400, 'body-hash-required')
      for (const [covered, isGood] of [
        ['md5=:AAAA:', false],
        ['sha-256=AAAA', false],
        ['', false],
        [`sha-256=:${digestOf('other')}:`, false],
        [`${digest}, sha-512=:AAAA:`, false],
        [`${digest}, md5=:AAAA:`, true],
      ] as const) {
        const input = '("@method" "@path" "content-digest")'
        const { target: _target, ...headers } = fields(path, input, [...lines, `"content-digest": ${covered}`])
        const reply = await post({ ...headers, 'content-digest': covered })
        expect({ covered, status: reply.status }).toEqual({ covered, status: isGood ? 201 : 401 })
      }
    })

    it('count a field that is sent twice as both of its lines', async () => {
      const lines = ['"@method": GET', '"@path": /rest/v1/deals', '"x-a": 1, 2']
      const { target: _, ...headers } = fields('/rest/v1/deals', '("@method" "@path" "x-a")', lines)
      const head = (extra: string) =>
        `GET /rest/v1/deals HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nsignature-input: ${headers['signature-input']}\r\nsignature: ${headers.signature}\r\n${extra}\r\n`
      expect((await sendRaw(stack.deal.port, head('x-a: 1\r\nX-A:  2 \r\n')))?.status).toBe(200)
      expect((await sendRaw(stack.deal.port, head('x-a: 2\r\nX-A: 1\r\n')))?.status).toBe(401)
      expect((await sendRaw(stack.deal.port, head('x-a: 1\r\n')))?.status).toBe(401)
      const twice = `signature: ${headers.signature?.replace('s=', 't=')}\r\n`
      expect((await sendRaw(stack.deal.port, head(`x-a: 1\r\nx-a: 2\r\n${twice}`)))?.body.code).toBe(
        'several-credentials',
      )
    })
  })
})
