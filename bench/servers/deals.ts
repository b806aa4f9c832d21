/** The deals of the benchmark: enough that a read is a real search, and that indexes are not trivially small. */
import { readFileSync } from 'node:fs'
import postgres from 'postgres'
import type { ScratchDatabase } from '../../test/support/stores/scratch-database.ts'
import type { Keyhold } from './keyhold.ts'
import { dealId, dealPath } from './requests.ts'

const prefix = dealId(0).slice(0, 24)
const idOf = (n: string) => `('${prefix}' || lpad(to_hex(${n}), 12, '0'))::uuid`

/** Creates deal 0 by HTTP, and copies of it in the database up to `count`. */
export async function fillDeals({ deal, accessToken, dealDatabase }: Keyhold, count: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${deal.port}${dealPath('')}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` },
    body: JSON.stringify({ id: dealId(0), name: 'Deal of the benchmark', price: 1234 }),
  })
  if (response.status !== 201) throw new Error(`The first deal could not be created: ${await response.text()}`)
  await fill(dealDatabase, [
    `insert into deals.deals
     select (jsonb_populate_record(d, jsonb_build_object(
       'id', ${idOf('n')}, 'bucket', deals.bucket_of(${idOf('n')}), 'created_at', d.created_at - n * interval '1 second'))).*
     from deals.deals d, generate_series(1, ${count - 1}) n`,
    'vacuum analyze deals.deals',
    'checkpoint',
  ])
}

/** Makes the tables of the floors, with as many deals. */
export const fillFloors = ({ url }: ScratchDatabase, count: number): Promise<void> =>
  fill(url, [
    readFileSync(new URL('../floors/tables.sql', import.meta.url), 'utf8'),
    `insert into deals
     select ${idOf('n')}, 'Deal of the benchmark', 1234, 'EUR', 'bench', 'open', false, null, 1, t, 'bench', t, 'bench'
     from generate_series(0, ${count - 1}) n, lateral (select now() - n * interval '1 second' as t) times`,
    'vacuum analyze deals',
    'checkpoint',
  ])

async function fill(url: string, statements: readonly string[]): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => {} })
  try {
    for (const statement of statements) await client.unsafe(statement)
  } finally {
    await client.end()
  }
}

/** Makes a function that reserves deals without changes, from the middle of the table. It returns the first number. */
export function newDealsOf(deals: number): (count: number) => number {
  let next = Math.floor(deals / 2)
  return (count) => {
    const first = next
    next += count
    if (next > deals) throw new Error('There are not enough deals: increase BENCH_DEALS.')
    return first
  }
}
