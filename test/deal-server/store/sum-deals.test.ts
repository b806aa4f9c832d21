import { PgDialect } from 'drizzle-orm/pg-core'
import { describe, expect, it } from 'vitest'
import { createDealSums } from '../../../deal-server/store/sum-deals.ts'
import { type Database, TookTooLong } from '../../../shared/platform/database/database.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'

const estimated = [{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': 4711 } }] }]

/** Counts over a database that plans at once and does the rest as told. */
function countsOver(read: () => Promise<object[]>) {
  const readWithin = async (statement: never) =>
    new PgDialect().sqlToQuery(statement).sql.startsWith('explain') ? estimated : read()
  return createDealSums({ readWithin } as unknown as Pick<Database, 'readWithin'>)
}

const late = () => Promise.reject(new TookTooLong('database'))

describe('counts and sums', () => {
  it('become an estimate when the exact count takes too long', async () => {
    expect(await countsOver(async () => [{ count: '12' }]).count({}, true)).toEqual({ count: 12, isExact: true })
    expect(await countsOver(late).count({}, true)).toEqual({ count: 4711, isExact: false })
    expect(await countsOver(late).count({}, false)).toEqual({ count: 4711, isExact: false })
  })

  it('are refused with advice where there is no estimate', async () => {
    const refused = countsOver(late).summarize({ filter: {}, by: ['status'] })
    await expect(refused).rejects.toMatchObject({ code: 'query-too-slow', retryAfterSeconds: 5 })
  })

  it('run two at a time, and do not wait long for each other', async () => {
    let [running, most] = [0, 0]
    const ends: (() => void)[] = []
    const sums = countsOver(async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise<void>((resolve) => ends.push(resolve))
      running -= 1
      return [{ count: '1' }]
    })
    const first = [sums.count({}, true), sums.count({}, true)]
    expect(await sums.count({}, true)).toEqual({ count: 4711, isExact: false })
    for (const end of ends) end()
    expect(await Promise.all(first)).toEqual([1, 1].map((count) => ({ count, isExact: true })))
    expect(most).toBe(2)
  })

  it('fail as lists do while the database is away', async () => {
    const away = countsOver(() => Promise.reject(new Unavailable('database')))
    await expect(away.count({}, true)).rejects.toBeInstanceOf(Unavailable)
    await expect(away.summarize({ filter: {}, by: [] })).rejects.toBeInstanceOf(Unavailable)
  })
})
