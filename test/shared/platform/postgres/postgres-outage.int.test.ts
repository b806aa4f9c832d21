import { sql } from 'drizzle-orm'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../../../../shared/platform/database/database.ts'
import { openPostgres } from '../../../../shared/platform/postgres/postgres.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  canMakeCertificates,
  findPostgresBinaries,
  PostgresServer,
} from '../../../support/processes/stores/postgres-server.ts'

const binaries = findPostgresBinaries()
const missing = [
  ...(process.env.TEST_DATABASE_URL ? [] : ['TEST_DATABASE_URL is not set']),
  ...(binaries === undefined ? ['no PostgreSQL programs are installed'] : []),
]
const title = ['a PostgreSQL server that goes away', ...missing.map((reason) => `(skipped: ${reason})`)].join(' ')

const ANSWER_TIMEOUT_MS = 2000
/** Enough for a scheduler under load, far below the time a silent server is waited for. */
const AT_ONCE_MS = 1000
/** Far above the time between two looks whether the server is back, on a machine under load. */
const RECOVERY_MS = 5000
const CALLERS = 200

describe.skipIf(missing.length > 0)(title, () => {
  let server: PostgresServer
  let database: Database

  beforeAll(async () => {
    server = await PostgresServer.create(binaries ?? '')
  })

  afterAll(() => server?.remove())

  beforeEach(async () => {
    database = openPostgres(server.url, { responseTimeoutMs: ANSWER_TIMEOUT_MS })
    await database.query('create table if not exists entry (id int primary key)')
    await everyWay()
  })

  afterEach(() => database.close())

  /** Each way into the database, so often that every session is in use. */
  const attempts = (): Promise<unknown>[] =>
    Array.from({ length: CALLERS }, (_, index) => {
      if (index % 20 === 0) return database.transaction((transaction) => transaction.execute(sql`select 1`))
      if (index % 20 === 1) return database.drizzle.execute(sql`select 1`)
      if (index % 20 === 2) return database.ping()
      return database.query('select $1::int as number', [index])
    })

  const everyWay = () => Promise.all(attempts())

  const expectAllUnavailable = async (withinMs: number): Promise<void> => {
    const began = performance.now()
    const settled = await Promise.allSettled(attempts())
    const tookMs = performance.now() - began
    const reasons = settled.map((each) => (each.status === 'rejected' ? each.reason : 'was answered'))
    expect(reasons.filter((reason) => !(reason instanceof Unavailable))).toEqual([])
    expect(reasons.every((reason) => reason.dependency === 'database')).toBe(true)
    expect(tookMs).toBeLessThan(withinMs)
  }

  const expectRecovery = async (): Promise<void> => {
    const began = performance.now()
    await eventually(() => database.ping())
    expect(performance.now() - began).toBeLessThan(RECOVERY_MS)
    await everyWay()
  }

  it('refuses at once while the server is shut down, again and again, and recovers by itself', async () => {
    await server.stop()
    for (let round = 0; round < 5; round++) {
      await expectAllUnavailable(AT_ONCE_MS)
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    await server.start()
    await expectRecovery()
  })

  it('refuses statements under way when the server is killed, and recovers by itself', async () => {
    const slow = Array.from({ length: 8 }, () => database.query('select pg_sleep(30)').catch((error) => error))
    const inTransaction = database
      .transaction(async (transaction) => {
        await transaction.execute(sql`select 1`)
        await transaction.execute(sql`select pg_sleep(30)`)
      })
      .catch((error) => error)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await server.kill()
    const outcomes = await Promise.all([...slow, inTransaction])
    expect(outcomes.filter((outcome) => !(outcome instanceof Unavailable))).toEqual([])
    await expectAllUnavailable(AT_ONCE_MS)
    await server.start()
    await expectRecovery()
  })

  it('refuses after the deadline when the server is paused, then at once, and recovers when it continues', async () => {
    server.pause()
    await expectAllUnavailable(ANSWER_TIMEOUT_MS * 2)
    for (let round = 0; round < 3; round++) await expectAllUnavailable(AT_ONCE_MS)
    server.resume()
    await expectRecovery()
  })

  it('waits for a slow statement: a server that answers other statements is not silent', async () => {
    const patient = openPostgres(server.url)
    const slow = [1, 2].map(() => patient.query('select pg_sleep(2.5)'))
    const inTransaction = patient.transaction((transaction) => transaction.execute(sql`select pg_sleep(2.5)`))
    expect(await Promise.all([...slow, inTransaction])).toHaveLength(3)
    await patient.close()
  })

  it('refuses all callers after a second when the server is silent, whatever the limit of a statement is', async () => {
    const patient = openPostgres(server.url, { responseTimeoutMs: 60_000, sessions: 2 })
    await patient.ping()
    server.pause()
    const began = performance.now()
    const transactions = Array.from({ length: 6 }, () => patient.transaction(async () => undefined))
    const settled = await Promise.allSettled([patient.ping(), patient.query('select 1'), ...transactions])
    expect(settled.map(({ status }) => status)).toEqual(settled.map(() => 'rejected'))
    expect(performance.now() - began).toBeLessThan(10_000)
    server.resume()
    await eventually(() => patient.ping())
    await patient.close()
  })

  it('recovers when a silent server is replaced by another one', async () => {
    server.pause()
    await expectAllUnavailable(ANSWER_TIMEOUT_MS * 2)
    await server.kill()
    await expectAllUnavailable(AT_ONCE_MS)
    await server.start()
    await expectRecovery()
  })

  it('answers as soon as a server which was away at the start is there', async () => {
    await server.stop()
    const early = openPostgres(server.url, { responseTimeoutMs: ANSWER_TIMEOUT_MS })
    await expect(early.ping()).rejects.toBeInstanceOf(Unavailable)
    await server.start()
    await eventually(() => early.ping())
    await early.close()
  })

  it('never commits half a transaction whose connection ended between two statements', async () => {
    const outcome = database.transaction(async (transaction) => {
      await transaction.execute(sql`insert into entry values (1)`)
      await endSessions('idle in transaction')
      await transaction.execute(sql`insert into entry values (2)`)
    })
    await expect(outcome).rejects.toBeInstanceOf(Unavailable)
    expect(await database.query('select id from entry')).toEqual([])
    await everyWay()
  })

  it('opens new connections for those that an administrator ended', async () => {
    await endSessions('idle')
    await eventually(everyWay)
  })

  it('keeps answering on its other connections when one is refused for want of connections', async () => {
    const administrator = postgres(server.url, { max: 1 })
    await administrator.unsafe('create role limited login connection limit 4')
    const url = server.url.replace('postgres@', 'limited@')
    const limited = openPostgres(url, { pipelines: 4, sessions: 2, responseTimeoutMs: ANSWER_TIMEOUT_MS })
    await Promise.all(Array.from({ length: 20 }, () => limited.query('select 1')))
    await expect(limited.transaction(async () => {})).rejects.toBeInstanceOf(Unavailable)
    await eventually(() => Promise.all(Array.from({ length: 20 }, () => limited.query('select 1'))))
    await limited.close()
    await administrator.end()
  })

  it.skipIf(!canMakeCertificates())('does all this over TLS, too', async () => {
    await server.stop()
    server.encrypt()
    await server.start()
    await database.close()
    database = openPostgres(`${server.url}?sslmode=require`, { responseTimeoutMs: ANSWER_TIMEOUT_MS })
    const encrypted = 'select ssl::text as ssl from pg_stat_ssl where pid = pg_backend_pid()'
    expect(await database.query(encrypted)).toEqual([{ ssl: 'true' }])
    await everyWay()
    await server.kill()
    await expectAllUnavailable(AT_ONCE_MS)
    await server.start()
    await expectRecovery()
    server.pause()
    await expectAllUnavailable(ANSWER_TIMEOUT_MS * 2)
    server.resume()
    await expectRecovery()

    for (const mode of ['verify-ca', 'verify-full']) {
      const wary = openPostgres(`${server.url}?sslmode=${mode}`)
      await expect(wary.ping()).rejects.toMatchObject({ cause: { message: expect.stringContaining('self-signed') } })
      await wary.close()
    }
  })

  const endSessions = async (state: string): Promise<void> => {
    const administrator = postgres(server.url, { max: 1 })
    await administrator`
      select pg_terminate_backend(pid, 1000) from pg_stat_activity
      where application_name = 'keyhold' and state = ${state}`
    await administrator.end()
  }
})
