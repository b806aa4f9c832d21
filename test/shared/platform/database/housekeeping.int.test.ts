import { EventEmitter, once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../../shared/platform/clock.ts'
import { createHousekeeping, type HousekeepingJob } from '../../../../shared/platform/database/housekeeping.ts'
import { createLog } from '../../../../shared/platform/log/log.ts'
import { databaseOfSuite, describeDatabases } from '../../../support/stores/own-database.ts'

let lines: string[] = []
const log = createLog({ level: 'trace', format: 'json' }, { write: (line) => void lines.push(line) })
const logged = (text: string) => lines.filter((line) => line.includes(text))

/** A job over a heap of things, all expired. */
const heap = (size: number, onBatch: () => unknown = () => undefined) => {
  const limits: number[] = []
  let left = size
  const job: HousekeepingJob = {
    name: 'heap',
    removeBatch: async (_drizzle, { limit }) => {
      limits.push(limit)
      await onBatch()
      const count = Math.min(limit, left)
      left -= count
      return count
    },
  }
  return { job, limits, left: () => left }
}

describeDatabases('housekeeping', (open) => {
  const { openAnother } = databaseOfSuite(open)
  beforeEach(() => {
    lines = []
  })

  /** As one more instance of a server would have it. */
  const instance = (jobs: HousekeepingJob[], options: { batchSize?: number; firstAfterMs?: number } = {}) => {
    const database = openAnother()
    const ports = { database, clock: systemClock, log, name: 'tests', jobs }
    const housekeeping = createHousekeeping(ports, { batchSize: 10, intervalMs: 5, ...options })
    return Object.assign(housekeeping, { database })
  }

  it('removes everything in batches, and logs how much', async () => {
    const { job, limits, left } = heap(25)
    const housekeeping = instance([job])
    expect(await housekeeping.runOnce()).toBe(true)
    expect([left(), limits]).toEqual([0, [10, 10, 10]])
    expect(housekeeping.removed().get('heap')).toBe(25)
    expect(logged('"count":25')).toHaveLength(1)
    await housekeeping.runOnce()
    expect(lines).toHaveLength(1)
  })

  it('runs in one instance at a time', async () => {
    const gate = new EventEmitter()
    const { job, limits } = heap(1, () => {
      gate.emit('begun')
      return once(gate, 'open')
    })
    const [first, second] = [instance([job]), instance([job])]
    const begun = once(gate, 'begun')
    const running = [first.runOnce(), first.runOnce()]
    await begun
    expect(await second.runOnce()).toBe(false)
    gate.emit('open')
    expect(await Promise.all(running)).toEqual([true, true])
    expect(limits).toHaveLength(1)
    const again = once(gate, 'begun')
    const next = second.runOnce()
    await again
    gate.emit('open')
    expect(await next).toBe(true)
  })

  it('logs a failed job and runs the other jobs', async () => {
    const broken: HousekeepingJob = { name: 'broken', removeBatch: () => Promise.reject(new Error('it broke')) }
    const { job, left } = heap(1)
    expect(await instance([broken, job]).runOnce()).toBe(true)
    expect(left()).toBe(0)
    expect(logged('it broke')).toHaveLength(1)
  })

  it('continues after a database did not answer', async () => {
    const housekeeping = instance([heap(1).job])
    await housekeeping.database.close()
    expect(await housekeeping.runOnce()).toBe(false)
    expect(logged('Housekeeping did not run')).toHaveLength(1)
  })

  it('runs at intervals until it is stopped, and then waits for the running batch', async () => {
    let runs = 0
    const { job, limits, left } = heap(1000, async () => {
      runs += 1
      await pause(20)
    })
    const housekeeping = instance([job], { firstAfterMs: 0 })
    housekeeping.start()
    while (runs < 2) await pause(5)
    await housekeeping.stop()
    expect(left()).toBe(1000 - 10 * limits.length)
    const done = limits.length
    await pause(60)
    expect(limits).toHaveLength(done)
    const other = heap(0)
    const repeating = instance([other.job], { firstAfterMs: 0 })
    repeating.start()
    while (other.limits.length < 3) await pause(5)
    await repeating.stop()
  })
})
