import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock as clock } from '../../shared/platform/clock.ts'
import { openPostgres } from '../../shared/platform/postgres/postgres.ts'
import type { OnRound } from '../runner/compare.ts'
import { median, rounded } from '../runner/figures.ts'
import type { Bench } from '../servers/bench.ts'
import { logIn, makeUsers, send } from '../servers/credentials.ts'

/** So many users have the role besides those who ask. */
const holders = 100_000
/** So many holders ask each of two deal servers until it refuses them. */
const askers = 64

const makeHoldersSql = `with made as (select 'holder-' || i as name, gen_random_uuid() as id
    from generate_series(1, ${holders}) i),
  made_principals as (
    insert into auth.principals (username, username_folded, user_id) select name, name, id from made)
  insert into auth.users (id, username, username_folded, roles, rights, enabled, created_at, updated_at)
  select id, name, name, '{bench-role}', '{}', true, now(), now() from made`

/** Measures how soon a right that a role loses is refused to its holders, with few of them and with 100,000. */
export async function measureRoleHolders(bench: Bench, onRound: OnRound): Promise<string> {
  const { keyhold, settings, environment, closeLater } = bench
  const { authOrigin: origin, accessToken: token } = keyhold
  const other = await keyhold.startDealServer()
  closeLater(other.stop)
  const ports = [keyhold.deal.port, other.port]
  const body = { name: 'bench-role', description: '', rights: ['deal.read'] }
  await send('POST', `${origin}/roles`, { token, body })
  const users = await makeUsers(origin, { token, prefix: 'asker', count: askers, roles: [body.name] })
  const tokens = await Promise.all(users.map((user) => logIn(origin, user)))
  const put = (rights: readonly string[]) =>
    send('PUT', `${origin}/roles/${body.name}`, { token, body: { description: '', rights } })
  const all = (status: number) => Promise.all(ports.flatMap((port) => tokens.map((one) => answers(port, one, status))))
  const round = async () => {
    await put(['deal.read'])
    await all(200)
    const started = clock.monotonic()
    const [answered] = await Promise.all([put([]).then(() => clock.monotonic() - started), all(403)])
    return { answered, refused: clock.monotonic() - started }
  }
  const rows: string[] = []
  for (const count of [askers, holders]) {
    if (count === holders) {
      const database = openPostgres(environment.databases.auth.url)
      await database.query(makeHoldersSql)
      await database.close()
    }
    const times: Awaited<ReturnType<typeof round>>[] = []
    for (let n = 0; n < settings.rounds; n += 1) {
      onRound(n, settings.rounds)
      times.push(await round())
    }
    const figures = [times.map(({ answered }) => answered), times.map(({ refused }) => refused)]
    rows.push(
      `| ${count} | ${figures
        .flatMap((one) => [median(one), Math.max(...one)])
        .map(rounded)
        .join(' | ')} |`,
    )
  }
  return [
    '## From a change of a role to the refusal of its holders, by two deal servers',
    '',
    `${settings.rounds} rounds, ${askers} holders who ask without a pause, times in ms after the change was sent:`,
    '',
    '| holders | response, p50 | maximum | all refused, p50 | maximum |',
    '|---:|---:|---:|---:|---:|',
    ...rows,
    '',
  ].join('\n')
}

async function answers(port: number, token: string, status: number): Promise<void> {
  for (;;) {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`http://127.0.0.1:${port}/rest/v1/deals?limit=1`, { headers })
    await response.arrayBuffer()
    if (response.status === status) return
    await sleep(2)
  }
}
