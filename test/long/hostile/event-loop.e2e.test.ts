import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CostlyRequest, costlyRequests, inCrumbs } from '../../support/clients/costly-requests.ts'
import type { Reply } from '../../support/clients/http-client.ts'
import { type LongRequest, longDescriptions, longRequests } from '../../support/clients/long-texts.ts'
import type { Document } from '../../support/clients/openapi.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { makeService, verifyAt } from '../../support/clients/service-client.ts'
import { leastLongestTurn, longestTurn, spin, timesSlower } from '../../support/processes/event-loop.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

/**
 * So long, in milliseconds, one request may hold the event loop on a machine like the one that the limit was made for.
 */
const limitMs = 25

let stack: Stack
let allowedMs: number

const turnOf = ({ server, bytes }: CostlyRequest): Promise<number> =>
  leastLongestTurn(() => sendRaw(stack[server].port, bytes), { enough: allowedMs, tries: 10 })

describeEmbedded('the event loop, under the costliest requests without a good credential', (openBackend) => {
  beforeAll(async () => {
    const many = '100000/60'
    const environment = { LOGIN_FAILURES_PER_ADDRESS: many, LOGIN_FAILURES_PER_ACCOUNT: many, TRUST_PROXY: '::1/128' }
    stack = await openStack(openBackend, { environment, logLevel: 'silent' })
    allowedMs = limitMs * timesSlower()
  })
  afterAll(() => stack.close())

  it('is watched: work that takes twice as long as it may is noticed', async () => {
    expect(await longestTurn(async () => spin(2 * limitMs))).toBeGreaterThan(limitMs)
    const waiting = leastLongestTurn(() => stack.auth.send('/healthz'), { enough: allowedMs, tries: 10 })
    expect(await waiting).toBeLessThan(allowedMs)
  })

  describe.each(costlyRequests())('$server server, $target', ({ requests }) => {
    it.each(requests)('is held for less than 25 ms by $name', async (request) => {
      expect(await turnOf(request)).toBeLessThan(allowedMs)
    })
  })

  it.each(['POST /login', 'PUT /login', 'GET /healthz', 'GET /nowhere'])(
    'is given back by cutting off a body that comes in chunks of one byte: %s',
    async (line) => {
      const request = inCrumbs('auth', line)
      expect(await sendRaw(stack.auth.port, request.bytes)).toBeUndefined()
      expect(await turnOf(request)).toBeLessThan(allowedMs)
    },
  )

  /** Those that hold the loop for longer. The client reads and writes as much, in this very thread. */
  async function slowAmong<Each extends { readonly name: string }>(
    all: readonly Each[],
    ask: (one: Each) => Promise<Reply>,
  ) {
    const slow: string[] = []
    for (const one of all) {
      const turn = await leastLongestTurn(() => ask(one), { enough: 2 * allowedMs, tries: 10 })
      if (turn >= 2 * allowedMs) slow.push(`${one.name}: ${turn} ms`)
    }
    return slow
  }

  it.each(['auth', 'deal'] as const)('is not held by long texts to any route of the %s server', async (name) => {
    const document: Document = JSON.parse((await stack[name].send('/openapi.json')).text)
    const authorization = `Basic ${Buffer.from(`admin:${passwordOf('admin')}`).toString('base64')}`
    const ask = ({ path, headers, ...sent }: LongRequest) =>
      stack[name].send(path, { ...sent, headers: { authorization, ...headers } })
    expect(await slowAmong(longRequests(document), ask)).toEqual([])
  })

  it('is not held by long texts in a request that a service describes', async () => {
    const by = { service: await makeService(stack), proof: 'basic' } as const
    expect(await slowAmong(longDescriptions(), ({ received }) => verifyAt(stack, by, received))).toEqual([])
  })
})
