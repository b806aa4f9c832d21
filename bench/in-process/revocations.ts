import { and, eq, isNull } from 'drizzle-orm'
import { createRevokeLogin } from '../../auth-server/logins/revoke-login.ts'
import { changePrincipal } from '../../auth-server/principals/principal-change.ts'
import { loginFamilies } from '../../auth-server/store/schema.ts'
import { systemClock as clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { openPostgres } from '../../shared/platform/postgres/postgres.ts'
import type { Comparison, Subject } from '../runner/compare.ts'
import type { Bench } from '../servers/bench.ts'

interface Login {
  readonly id: string
  readonly username: string
}

/** More than a turn of a second revokes. */
const logins = 20_000

const makeUsersSql = `with made as (select 'revoked-' || i as name, gen_random_uuid() as id
    from generate_series(1, ${logins}) i),
  made_principals as (
    insert into auth.principals (username, username_folded, user_id) select name, name, id from made)
  insert into auth.users (id, username, username_folded, roles, rights, enabled, created_at, updated_at)
  select id, name, name, '{}', '{}', true, now(), now() from made`

const forgetLoginsSql = `delete from auth.login_families where username_folded like 'revoked-%'`

const makeLoginsSql = `insert into auth.login_families (id, user_id, username_folded, generation, created_at,
    last_used_at, expires_at, refresh_expires_at, tokens_expire_at)
  select gen_random_uuid(), id, username_folded, 0, now(), now(), now() + '1d', now() + '1d', now() + '1h'
  from auth.users where username_folded like 'revoked-%'
  returning id::text as id, username_folded as username`

/** Compares revocations by two servers with a transaction for each change of a principal. */
export async function compareRevocations({ environment, settings }: Bench): Promise<Comparison> {
  const open = () => openPostgres(environment.databases.auth.url)
  const databases = [open(), open()] as const
  const [database] = databases
  await database.query(makeUsersSql)
  const publisher = { waitUntilPublished: async () => undefined }
  const revoke = databases.map((one) => createRevokeLogin({ database: one, publisher, clock }))
  const subject = (name: string, work: (login: Login, server: number) => Promise<unknown> | undefined): Subject => ({
    name,
    turn: async (seconds) => ({ perSecond: await rateOf(database, { seconds, clients: settings.clients, work }) }),
  })
  return {
    title: `Revocations of logins of as many users by ${settings.clients} callers, two servers`,
    unit: 'revocations',
    floors: [subject('a transaction each', (login, server) => alone(databases[server] ?? database, login))],
    subjects: [subject('gathered', (login, server) => revoke[server]?.({ ...login, reason: 'logout' }))],
    close: () => Promise.all(databases.map((one) => one.close())),
  }
}

interface Work {
  readonly seconds: number
  readonly clients: number
  work(login: Login, server: number): Promise<unknown> | undefined
}

async function rateOf(database: Database, { seconds, clients, work }: Work): Promise<number> {
  await database.query(forgetLoginsSql)
  const left = await database.query<{ id: string; username: string }>(makeLoginsSql)
  const begin = performance.now()
  const elapsed = () => (performance.now() - begin) / 1000
  let done = 0
  const caller = async (_: unknown, number: number) => {
    for (let login = left.pop(); login && elapsed() < seconds; login = left.pop()) {
      await work(login, number % 2)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: clients }, caller))
  return done / elapsed()
}

/** One change of a principal, as other changes are made. */
const alone = (database: Database, { id, username }: Login): Promise<unknown> =>
  changePrincipal(database, username, async (transaction) => {
    await transaction
      .update(loginFamilies)
      .set({ endedAt: new Date(clock.now()), endedReason: 'logout', rotatedAt: null, successorSealed: null })
      .where(and(eq(loginFamilies.id, id), isNull(loginFamilies.endedAt)))
    return { result: undefined, change: {} }
  })
