/** The deals that are read and changed: so many that reading one is a search, and that nobody's indexes are trivially small. */
import type { Database } from '../shared/platform/database/database.ts'
import { dealId } from './requests.ts'

/** Makes deal 0 through the server on `port`, and copies of it with the ids up to `count`; then waits until the tables are at rest. */
export async function makeDeals(
  { database, openPort }: { database: Database; openPort: number },
  count: number,
): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${openPort}/rest/v1/deals/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: dealId(0), name: 'Deal of the benchmark', price: 1234 }),
  })
  if (response.status !== 201) throw new Error(`the first deal could not be made: ${await response.text()}`)
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
