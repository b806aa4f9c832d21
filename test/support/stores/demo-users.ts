/**
 * The demo's users as rows: five hashes of passwords, and ten changes that are published one by one, take longer than
 * the rest of a stack's start. So only the first stack of a process creates them.
 */
import type { Database } from '../../../shared/platform/database/database.ts'

/** The rows of new users, as JSON, between two values of the counter that numbers their changes. */
interface DemoRows {
  readonly before: string
  readonly rows: string
}

/** By what decides on them. */
const known = new Map<string, DemoRows>()

/** A database with the tables of the auth server. */
export interface DemoPlace {
  readonly database: Pick<Database, 'query' | 'write'>
  /** What decides on the rows: the keys that seal the Digest secrets among them, and the cost of hashes. */
  readonly decidedBy: string
}

/** The steps of an auth server that has not started yet. */
export interface DemoSteps {
  /** Starts it. */
  start(): void
  /** Waits until it has published the users that are there. */
  publish(): Promise<unknown>
  /** Creates the users by the server. */
  create(): Promise<void>
}

/** Starts an auth server, and gives its database the demo's users. */
export async function withDemoUsers(place: DemoPlace, { start, publish, create }: DemoSteps): Promise<void> {
  const { database, decidedBy } = place
  const before = await counterWithoutUsers(database)
  const prepared = known.get(decidedBy)
  if (before !== undefined && before === prepared?.before) {
    await database.write(insertSql, [prepared.rows])
    start()
    await publish()
    return
  }
  start()
  await create()
  if (before !== undefined) known.set(decidedBy, { before, rows: await rowsOf(database) })
}

/** The number of the last change; undefined when somebody has created users. */
async function counterWithoutUsers(database: DemoPlace['database']): Promise<string | undefined> {
  const [row] = await database.query<{ value: string }>(`
    select value::text as value from auth.principal_change_counter
    where not exists (select from auth.users where username_folded <> 'anonymous')`)
  return row?.value
}

async function rowsOf(database: DemoPlace['database']): Promise<string> {
  const [row] = await database.query<{ rows: string }>(`
    select json_build_object(
      'users', (select json_agg(u) from auth.users u where username_folded <> 'anonymous'),
      'principals', (select json_agg(p) from auth.principals p join auth.users u using (username_folded)
        where username_folded <> 'anonymous'),
      'secrets', (select json_agg(d) from auth.digest_secrets d),
      'counter', (select value from auth.principal_change_counter))::text as rows`)
  return row?.rows ?? ''
}

const insertSql = `
  with rows as (select $1::text::json as rows),
  u as (insert into auth.users
    select made.* from rows, json_populate_recordset(null::auth.users, rows -> 'users') made),
  p as (insert into auth.principals
    select made.* from rows, json_populate_recordset(null::auth.principals, rows -> 'principals') made),
  d as (insert into auth.digest_secrets
    select made.* from rows, json_populate_recordset(null::auth.digest_secrets, rows -> 'secrets') made)
  update auth.principal_change_counter set value = (rows ->> 'counter')::bigint from rows`
