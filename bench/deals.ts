/** The deals of the benchmark: enough that a read is a real search, and that indexes are not trivially small. */
import type { Database } from '../shared/platform/database/database.ts'
import { dealId } from './requests.ts'

/**
 * Creates deal 0 by HTTP, and copies of it in the database up to `count`. Then it vacuums the table and waits for a
 * checkpoint.
 */
export async function makeDeals(
  { database, fixedCallerPort }: { database: Database; fixedCallerPort: number },
  count: number,
): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${fixedCallerPort}/rest/v1/deals/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: dealId(0), name: 'Deal of the benchmark', price: 1234 }),
  })
  if (response.status !== 201) throw new Error(`The first deal could not be created: ${await response.text()}`)
  await database.exclusively('benchmark', async (drizzle) => {
    await drizzle.execute(`
      insert into deals.deals
      select (jsonb_populate_record(d, jsonb_build_object(
        'id', '${dealId(0).slice(0, 24)}' || lpad(to_hex(n), 12, '0'),
        'created_at', d.created_at - n * interval '1 second'))).*
      from deals.deals d, generate_series(1, ${count - 1}) n`)
    await drizzle.execute('vacuum analyze deals.deals')
    await drizzle.execute('checkpoint')
  })
}
