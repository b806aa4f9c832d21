import { getTableColumns } from 'drizzle-orm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Deal } from '../../../deal-server/domain/deal.ts'
import { changedColumns, type DealRow, dealOfRow, rfc3339OfRow } from '../../../deal-server/store/rows.ts'
import { deals } from '../../../deal-server/store/schema.ts'

const at = '2026-11-22T13:00:00+00:00'
const nulls = Object.fromEntries(Object.values(getTableColumns(deals)).map(({ name }) => [name, null]))
const emptyRow = { ...nulls, held: false, penalty_total: 0, created_at: at, updated_at: at } as unknown as DealRow

describe('a time of a row', () => {
  it('is RFC 3339 in UTC with three decimals, whichever zeros PostgreSQL leaves out', () => {
    const times = fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(times, (date) => {
        const inPostgres = date.toISOString().replace(/\.?0*Z$/, '+00:00')
        expect(rfc3339OfRow(inPostgres)).toBe(date.toISOString())
      }),
    )
  })

  it.each([
    ['2026-11-22T13:00:00+00:00', '2026-11-22T13:00:00.000Z'],
    ['2026-11-22T13:00:00.5+00:00', '2026-11-22T13:00:00.500Z'],
    ['2026-11-22T14:00:00.25+01:00', '2026-11-22T13:00:00.250Z'],
  ])('%s is %s', (inPostgres, expected) => {
    expect(rfc3339OfRow(inPostgres)).toBe(expected)
  })
})

describe('the changed columns of a deal', () => {
  const deal = dealOfRow({ ...emptyRow, id: '0198c0de-0000-4000-8000-000000000001', name: 'Roof', version: 3 })

  it('are those that differ, under the names of the table', () => {
    const held: Deal = { ...deal, held: true, holdReason: 'no plan', version: 4 }
    expect(changedColumns(deal, held)).toEqual({ held: true, hold_reason: 'no plan', version: 4 })
  })

  it('are all columns of the table for a new deal, with the number of its tasks', () => {
    const names = Object.values(getTableColumns(deals)).map(({ name }) => name)
    const changed = changedColumns(undefined, deal)
    expect(Object.keys(changed).toSorted()).toEqual(names.toSorted())
    expect(Object.entries(changed).filter(([, value]) => value === undefined)).toEqual([])
    expect(changed.task_count).toBe(0)
  })
})
