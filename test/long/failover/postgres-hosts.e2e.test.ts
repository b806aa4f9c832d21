/** One URL that names primary and standby, without a balancer: the standby is promoted under load. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../shared/platform/database/database.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { campaign } from '../../support/campaign.ts'
import { eventually } from '../../support/eventually.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const binaries = findPostgresBinaries()
const rounds = campaign({ short: 1, long: 10 })
const promotedWithinMs = 2_000

const hostOf = ({ url }: PostgresServer) => new URL(url).host
const urlOf = (...servers: PostgresServer[]) => `postgres://postgres@${servers.map(hostOf).join(',')}/postgres`

const opened: Database[] = []
function open(url: string): Database {
  const database = openPostgres(url)
  opened.push(database)
  return database
}

/** How the primary goes away. */
const ends = {
  'is killed': (primary: PostgresServer) => primary.kill(),
  'is shut down': (primary: PostgresServer) => primary.stop(),
  freezes: async (primary: PostgresServer) => primary.pause(),
}

describe.skipIf(binaries === undefined)('a primary and a standby in one URL', () => {
  describe.each(Object.entries(ends))('when the primary %s', (_name, end) => {
    it('are back within two seconds of the promotion, and nothing acknowledged is lost', async () => {
      for (let round = 0; round < rounds; round += 1) await promoteUnderLoad(end)
    })
  })

  async function promoteUnderLoad(end: (primary: PostgresServer) => Promise<void>): Promise<void> {
    const primary = await PostgresServer.create(binaries ?? '')
    const standby = await primary.makeStandby('b')
    let stack: Stack | undefined
    try {
      await primary.configure({ synchronous_standby_names: 'ANY 1 (b)' })
      const openBackend = async () => {
        const embedded = await openEmbedded()
        return { ...embedded, openDatabase: () => openPostgres(urlOf(primary, standby)) }
      }
      stack = await openStack(openBackend, { dealServers: 2, logLevel: 'silent' })
      const load = await create(stack)
      await load.reached(20)
      const allowed = allowHoldUps()
      await end(primary)
      await sleep(300)
      const promotedAt = performance.now()
      await standby.promote()
      const isPromotedAt = performance.now()
      const before = load.acknowledged.length
      await load.reached(before + 20)
      const [next] = load.acknowledged.filter(({ at }) => at > isPromotedAt)
      await load.end()
      expect(Number(next?.at) - isPromotedAt).toBeLessThan(allowed(promotedWithinMs))
      process.stdout.write(`promotion ${Math.round(isPromotedAt - promotedAt)} ms, then back after `)
      process.stdout.write(`${Math.round(Number(next?.at) - isPromotedAt)} ms; ${load.acknowledged.length} commands\n`)
      expect(load.statuses.filter((status) => status !== 201 && status !== 503)).toEqual([])
      const rows = await standby.query('select id from deals.deals')
      const kept = new Set(rows.map(({ id }) => String(id)))
      expect(load.acknowledged.filter(({ id }) => !kept.has(id))).toEqual([])
      for (const server of [stack.auth, ...stack.deals]) {
        await eventually(async () => expect((await server.send('/readyz')).status).toBe(200))
      }
    } finally {
      primary.resume()
      await stack?.close()
      await standby.remove()
      await primary.remove()
    }
  }

  /** Creates deals at both deal servers until `end`. */
  async function create({ deals, logIn }: Stack) {
    const { access: token } = await logIn('alice')
    const acknowledged: { readonly id: string; readonly at: number }[] = []
    const statuses: number[] = []
    let isOver = false
    const callers = [...deals, ...deals].map(async (deal) => {
      while (!isOver) {
        const { status, body } = await deal.send('/rest/v1/deals', { token, json: { name: 'kept', price: 1 } })
        statuses.push(status)
        if (status === 201) acknowledged.push({ id: String(body.id), at: performance.now() })
        else await sleep(20)
      }
    })
    return {
      acknowledged,
      statuses,
      reached: (count: number) => eventually(() => expect(acknowledged.length).toBeGreaterThanOrEqual(count)),
      end: async () => {
        isOver = true
        await Promise.all(callers)
      },
    }
  }
})

describe.skipIf(binaries === undefined)('the hosts in the URL of a database', () => {
  let primary: PostgresServer
  let standby: PostgresServer
  beforeAll(async () => {
    primary = await PostgresServer.create(binaries ?? '')
    standby = await primary.makeStandby()
  })
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()))
    await standby?.remove()
    await primary?.remove()
  })

  const inRecovery = async (database: Database) =>
    (await database.query<{ in: boolean }>('select pg_is_in_recovery() as in'))[0]?.in

  it('may stand in any order: all sessions are with the primary', async () => {
    for (const url of [urlOf(primary, standby), urlOf(standby, primary)]) {
      const database = open(url)
      expect(await Promise.all(Array.from({ length: 20 }, () => inRecovery(database)))).not.toContain(true)
      await database.transaction(async () => undefined)
    }
  })

  it('are refused with one line when there is one, a standby', async () => {
    for (const url of [urlOf(standby), `${urlOf(standby)}?target_session_attrs=read-write`]) {
      const error = await open(url)
        .ping()
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ name: 'Unavailable' })
      expect(String((error as Error).cause)).toBe(
        `Error: ${hostOf(standby)} is a standby: name the primary in the URL, or all hosts with commas between`,
      )
    }
  })

  it('let a server start, or say in one line why not', async () => {
    const start = async (url: string) => {
      const environment = { DEAL_PORT: String(await freePort()), DEAL_DATABASE_URL: url, REDIS_URL: 'none' }
      const child = startChild('deal-server/main.ts', { environment: { ...environment, LOG_FORMAT: 'json' } })
      return { code: await child.ended(), output: child.output() }
    }
    expect(await start(urlOf(standby))).toEqual({
      code: 1,
      output: expect.stringMatching(/^DEAL_DATABASE_URL: .* is a standby: name the primary in the URL, .*\n$/),
    })
    const refused = await start('postgres://postgres@127.0.0.1:1,127.0.0.1:x/postgres')
    expect(refused.code).toBe(2)
    expect(refused.output).toMatch(/^ {2}DEAL_DATABASE_URL: expected a URL beginning with postgres:.*several hosts/m)
  })

  it('leave the former primary for the promoted one, also with what is under way there', async () => {
    const database = open(urlOf(primary, standby))
    await Promise.all(Array.from({ length: 4 }, () => database.ping()))
    const underWay = database.query('select pg_sleep(3.5)').catch((reason: unknown) => reason)
    await standby.promote()
    // Nobody has stopped the former primary. One lost session is enough to notice the other one.
    await primary.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'keyhold' and state = 'idle'",
    )
    const timeline = 'select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline'
    await eventually(async () => expect(await database.query(timeline)).toEqual([{ timeline: '00000002' }]))
    const why = expect.stringMatching(/is not the primary any more$/)
    expect(await underWay).toMatchObject({ name: 'Unavailable', cause: { message: why } })
    const restarted = open(urlOf(primary, standby))
    expect(await restarted.query(timeline)).toEqual([{ timeline: '00000002' }])
  })
})
