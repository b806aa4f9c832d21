import type { Database } from '../../../shared/platform/database/database.ts'

const tables = ['deals.deals', 'deals.events', 'deals.commands', 'auth.users', 'auth.principals', 'auth.login_families']

const digestOf = (table: string) =>
  `coalesce((select md5(string_agg(t::text, ' ' order by t::text)) from ${table} t), 'empty')`

/** Changes whenever any row of either server does. */
export async function fingerprintOfData(database: Database): Promise<string> {
  const text = `select concat_ws(' ', ${tables.map(digestOf).join(', ')}) as fingerprint`
  const [row] = await database.query<{ fingerprint: string }>(text)
  return row?.fingerprint ?? ''
}
