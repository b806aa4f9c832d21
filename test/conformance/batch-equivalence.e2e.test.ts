/** Batches: each of their commands has the outcome that it would have alone. */
import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../support/campaign.ts'
import { type BatchOutcome, outcomesOf, sendLines } from '../support/clients/batch-client.ts'
import { describeOnce } from '../support/stores/backends.ts'
import { storedDeals, withoutIdsAndTimes } from '../support/stores/stored-deals.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { transitionTable } from '../support/worlds/transition-table.ts'
import { makeTwin, sendAs, styleCalled } from '../support/worlds/twins.ts'

let stack: Stack
let alice: string

const batch = async (lines: readonly unknown[]): Promise<BatchOutcome[]> => {
  const reply = await sendLines(stack.deal, lines, { token: alice })
  expect(reply.status, reply.text).toBe(200)
  return outcomesOf(reply)
}
const key = () => `batch-${randomUUID()}`
const summary = (outcomes: readonly BatchOutcome[]) => outcomes.map(({ status, problem }) => problem?.code ?? status)

describeOnce('commands in a batch and alone', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { logLevel: 'silent' })
    alice = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())

  it('have the same status and problem as a command of style 5, for each use case in each state', async () => {
    const send = sendAs(stack.deal, alice)
    const style = styleCalled('global-command-collection')
    const seen = (dealId: string, status: unknown, shown: unknown) => {
      const { requestId: _id, instance: _instance, ...rest } = Object(shown) as Record<string, unknown>
      const text = JSON.stringify({ status, rest }).replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[^"]+/g, 'x')
      return withoutIdsAndTimes(JSON.parse(text.replace(/conformance-[0-9-]+/g, 'x')), dealId)
    }
    for (const state of ['HELD', 'DELETED'] as const) {
      const alone: unknown[] = []
      const lines: object[] = []
      const ids: string[] = []
      for (const { useCase, params } of transitionTable) {
        const [single, lined] = [await makeTwin(send, state), await makeTwin(send, state)]
        const request = style.request({ useCase, params, ...single })
        if (!request) throw new TypeError('style 5 has every use case')
        const { status, body } = await send(request)
        alone.push(seen(single.dealId, status, body))
        ids.push(lined.dealId)
        lines.push({
          id: `conformance-${Math.random()}`.replace('0.', ''),
          deal: lined.dealId,
          action: useCase,
          params,
        })
      }
      const outcomes = await batch(lines)
      const together = outcomes.map(({ status, command, problem }, index) =>
        seen(ids[index] ?? '', status, command ?? problem),
      )
      expect(together, state).toEqual(alone)
    }
  })

  it('equal the same commands sent one by one, in outcomes and in what is stored', async () => {
    const stored = storedDeals(stack.database)
    const useCases = transitionTable.filter(({ useCase }) => useCase !== 'CreateDeal')
    const step = fc.record({
      deal: fc.integer({ min: 0, max: 2 }),
      row: fc.constantFrom(undefined, ...useCases),
      repeat: fc.boolean(),
    })
    const runs = { numRuns: campaign({ short: 12, long: 400 }) }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const results = []
        for (const way of ['together', 'alone'] as const) {
          const ids = [randomUUID(), randomUUID(), randomUUID()]
          const lines = steps.map(({ deal, row }) => ({
            id: key(),
            deal: ids[deal],
            action: row?.useCase ?? 'CreateDeal',
            params: row?.params ?? { name: 'deal', price: 1 },
          }))
          const outcomes =
            way === 'together'
              ? summary(await batch(lines))
              : await Promise.all(
                  [0, 1, 2].map((deal) => sendAlone(lines.filter((line) => line.deal === ids[deal]))),
                ).then((ofDeals) => steps.map(({ deal }) => ofDeals[deal]?.shift()))
          const states = []
          for (const id of ids) states.push(withoutIdsAndTimes((await stored.load(id)) ?? null, id))
          results.push({ outcomes, states })
        }
        expect(results[0]).toEqual(results[1])
      }),
      runs,
    )
  })
})

async function sendAlone(lines: readonly { id: string; deal: string | undefined; action: string; params: object }[]) {
  const codes: unknown[] = []
  for (const { id, ...json } of lines) {
    const { status, body } = await stack.deal.send(`/commands/${id}`, { token: alice, method: 'PUT', json })
    codes.push(body.code ?? status)
  }
  return codes
}
