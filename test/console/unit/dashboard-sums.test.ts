import { expect, it } from 'vitest'
import { createReadSums, lastSpans } from '../../../console/dashboard/sums.ts'
import type { DealApi } from '../../../console/frame/deal-api.ts'

/** An API whose summaries take `tookMs` each, and the calls that it got. */
function world({ tookMs = 100, fails = false } = {}) {
  let time = 0
  let running = 0
  const seen = { calls: 0, atOnce: 0 }
  const get = async () => {
    seen.calls += 1
    running += 1
    seen.atOnce = Math.max(seen.atOnce, running)
    await Promise.resolve()
    time += tookMs
    running -= 1
    if (fails) throw new Error('refused')
    return { items: [] }
  }
  const api = { get } as unknown as DealApi
  const pass = (ms: number) => {
    time += ms
  }
  const readAll = createReadSums({ now: () => Date.UTC(2026, 10, 23), monotonic: () => time })
  const readSums = (by: DealApi, period: 'month' | 'week', right = 'deal.read') =>
    readAll({ api: by, caller: { rights: new Set([right]) } }, period)
  return { api, seen, pass, readSums }
}

it('reads all sums once for readers who come at the same time, one after the other', async () => {
  const { api, seen, readSums } = world()
  const found = await Promise.all(Array.from({ length: 30 }, () => readSums(api, 'month')))
  expect(new Set(found).size).toBe(1)
  expect(seen).toEqual({ calls: 7, atOnce: 1 })
})

it('shows them for ten times as long as reading them took, then reads them again', async () => {
  const { api, seen, pass, readSums } = world()
  await readSums(api, 'month')
  pass(6_900)
  await readSums(api, 'month')
  expect(seen.calls).toBe(7)
  pass(200)
  await readSums(api, 'month')
  expect(seen.calls).toBe(14)
})

it('shares nothing with a reader of own deals alone', async () => {
  const { api, seen, readSums } = world()
  const shared = await readSums(api, 'month')
  expect(await readSums(api, 'month', 'deal.read:own')).not.toBe(shared)
  expect(seen.calls).toBe(14)
})

it('keeps months and weeks apart', async () => {
  const { api, readSums } = world()
  const month = await readSums(api, 'month')
  expect(await readSums(api, 'week')).not.toBe(month)
  expect(month?.spans.map(({ from }) => from)).toEqual(
    lastSpans('month', Date.UTC(2026, 10, 23)).map(({ from }) => from),
  )
})

it('gives no sums where they are refused, and tries again for the next reader', async () => {
  const { api, seen, readSums } = world({ fails: true })
  expect(await readSums(api, 'month')).toBeUndefined()
  expect(await readSums(api, 'month')).toBeUndefined()
  expect(seen.calls).toBe(2)
})
