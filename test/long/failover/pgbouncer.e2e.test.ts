/** PgBouncer in transaction mode with a pool of four between the servers and PostgreSQL. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../shared/platform/database/database.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { sessionSettings } from '../../../shared/platform/postgres/session-settings.ts'
import { campaign } from '../../support/campaign.ts'
import { eventually } from '../../support/eventually.ts'
import { startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { type PgBouncer, pgbouncerInstalled, startPgBouncer } from '../../support/processes/stores/pgbouncer.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const binaries = findPostgresBinaries()
const possible = pgbouncerInstalled && binaries !== undefined
const settingsOfSessions = sessionSettings({ isPooled: false, seesReadOnly: false, responseTimeoutMs: 5000 })
const callers = campaign({ short: 40, long: 400 })

describe.skipIf(!possible)('PgBouncer between the servers and PostgreSQL', () => {
  let postgres: PostgresServer
  let bouncer: PgBouncer
  let stack: Stack
  let token: string
  const opened: Database[] = []
  const open = (url: string): Database => {
    const database = openPostgres(url)
    opened.push(database)
    return database
  }

  beforeAll(async () => {
    postgres = await PostgresServer.create(binaries ?? '')
    bouncer = await startPgBouncer(postgres.url)
    const url = bouncer.pooled(postgres.url)
    const openBackend = async () => ({ ...(await openEmbedded()), openDatabase: () => openPostgres(url) })
    stack = await openStack(openBackend, { dealServers: 2 })
    token = (await stack.logIn('alice')).access
  })
  afterAll(async () => {
    await stack?.close()
    await Promise.all(opened.map((database) => database.close()))
    await bouncer?.dispose()
    await postgres?.remove()
  })

  const deal = (index: number) => stack.deals[index % stack.deals.length] ?? stack.deal
  const noLockStays = () =>
    eventually(async () =>
      expect(await postgres.query("select * from pg_locks where locktype = 'advisory'")).toEqual([]),
    )

  it('lets the servers start, leaves no lock behind, and lets one start beside them without it', async () => {
    await noLockStays()
    const environment = { DEAL_PORT: String(await freePort()), DEAL_DATABASE_URL: postgres.url, REDIS_URL: 'none' }
    const child = startChild('deal-server/main.ts', { environment: { ...environment, AUTH_URL: stack.auth.url } })
    await eventually(async () => {
      const { status } = await fetch(`http://127.0.0.1:${environment.DEAL_PORT}/healthz`)
      expect(status).toBe(200)
    })
    expect(await child.end('SIGTERM')).toBe(0)
  })

  it('gives each of many callers at two deal servers its own answer, once', async () => {
    const one = async (index: number) => {
      const headers = { 'idempotency-key': randomUUID() }
      const json = { name: `pooled ${index}`, price: index }
      const send = (at: number) => deal(at).send('/rest/v1/deals', { token, headers, json })
      const [first, again] = await Promise.all([send(index), send(index + 1)])
      expect([first.status, again.status]).toEqual([201, 201])
      expect(again.body.id).toBe(first.body.id)
      const id = String(first.body.id)
      const hold = { method: 'PUT', token, json: { reason: `because of ${index}` } }
      expect((await deal(index + 1).send(`/rest/v1/deals/${id}/hold`, hold)).status).toBe(200)
      const read = await deal(index).send(`/rest/v1/deals/${id}`, { token })
      expect(read.body).toMatchObject({ id, name: `pooled ${index}`, price: index, held: true })
    }
    await Promise.all(Array.from({ length: callers }, (_, index) => one(index)))
  })

  it('keeps time limits off the sessions of others, and transactions together', async () => {
    const [one, other] = [open(bouncer.pooled(postgres.url)), open(bouncer.pooled(postgres.url))]
    await one.query('create table if not exists notes (id int primary key)')
    const exclusive = one.exclusively('a work', async (drizzle) => {
      await drizzle.execute('insert into notes values (1)')
      await drizzle.execute('insert into notes values (2)')
    })
    const shown = await Promise.all(
      Array.from({ length: 40 }, () => other.query<{ statement_timeout: string }>('show statement_timeout')),
    )
    await exclusive
    const limitOfServer = await postgres.query('show statement_timeout')
    expect(new Set(shown.map(([row]) => row?.statement_timeout))).toEqual(
      new Set(limitOfServer.map(({ statement_timeout }) => String(statement_timeout))),
    )
    expect(await other.query('select id from notes order by id')).toEqual([{ id: 1 }, { id: 2 }])
    const refused = one.exclusively('a work', async (drizzle) => {
      await drizzle.execute('insert into notes values (3)')
      throw new Error('no')
    })
    await expect(refused).rejects.toThrow('no')
    expect(await other.query('select id from notes where id = 3')).toEqual([])
    await noLockStays()
  })

  it('answers statements with and without parameters that are asked at once', async () => {
    const databases = Array.from({ length: 4 }, () => openPostgres(bouncer.pooled(postgres.url), { pipelines: 1 }))
    opened.push(...databases)
    const ask = async (index: number) => {
      const database = databases[index % databases.length]
      const plain = database?.query('select 1 as one, pg_sleep(0.0005)::text')
      const asked = database?.query<{ index: string }>('select $1::text as index', [String(index)])
      expect(await asked).toEqual([{ index: String(index) }])
      expect(await plain).toHaveLength(1)
    }
    for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 32 }, (_, index) => ask(index)))
  })

  it('lets maintenance run in one instance at a time, without a transaction that holds others up', async () => {
    const [one, other] = [open(bouncer.pooled(postgres.url)), open(postgres.url)]
    const ran = await one.exclusivelyIfFree('cleaning', async (drizzle) => {
      await drizzle.execute('create table if not exists cleaned (id int)')
      expect(await other.exclusivelyIfFree('cleaning', async () => expect.fail('both ran'))).toBe(false)
      const holding = 'select 1 from pg_stat_activity where backend_xid is not null or backend_xmin is not null'
      // Statements of others come and go.
      await eventually(async () => expect(await postgres.query(`${holding} and pid <> pg_backend_pid()`)).toEqual([]))
    })
    expect(ran).toBe(true)
    await noLockStays()
    expect(await other.exclusivelyIfFree('cleaning', async () => undefined)).toBe(true)
  })

  it('is one of several: the one before the primary is used, and another one after a promotion', async () => {
    const primary = await PostgresServer.create(binaries ?? '')
    const standby = await primary.makeStandby()
    const poolers = await Promise.all([startPgBouncer(primary.url), startPgBouncer(standby.url)])
    const url = (parameters: string) =>
      `postgres://postgres@${poolers.map(({ host }) => host).join(',')}/postgres?${parameters}`
    try {
      // PgBouncer has seen both: it goes on reporting the standby as one.
      for (const each of poolers) await open(each.pooled(primary.url, 'pgbouncer=true&target_session_attrs=any')).ping()
      await expect(open(`postgres://postgres@${poolers[1]?.host}/postgres?pgbouncer=true`).requireSuitable())
        .rejects //
        .toMatchObject({ cause: { message: expect.stringMatching(/^the server is a standby: name the primary/) } })
      const database = open(url('pgbouncer=true'))
      await database.requireSuitable()
      await database.query('create table written (id int primary key)')
      await standby.catchUpWith(primary)
      await primary.kill()
      await standby.promote()
      await eventually(() => database.query('insert into written values (1) on conflict do nothing'))
      expect(await standby.query('select id from written')).toEqual([{ id: 1 }])
    } finally {
      await Promise.all(opened.splice(0).map((each) => each.close()))
      for (const each of poolers) await each.dispose()
      await standby.remove()
      await primary.remove()
    }
  })

  describe('that is set otherwise', () => {
    const others: PgBouncer[] = []
    afterAll(() => Promise.all(others.map((other) => other.dispose())))

    const start = async (settings: Readonly<Record<string, string>>, parameters: string) => {
      const other = await startPgBouncer(postgres.url, settings)
      others.push(other)
      const environment = {
        DEAL_PORT: String(await freePort()),
        DEAL_DATABASE_URL: other.pooled(postgres.url, parameters),
        REDIS_URL: 'none',
      }
      const child = startChild('deal-server/main.ts', { environment: { ...environment, LOG_FORMAT: 'json' } })
      return { code: await child.ended(), output: child.output() }
    }

    it.each([
      ['not named in the URL', {}, '', /a pooler answers; add pgbouncer=true to the parameters of the URL\n$/],
      [
        'not named, and hidden by ignore_startup_parameters',
        {
          ignore_startup_parameters: [
            'plan_cache_mode',
            'enable_seqscan',
            'jit',
            ...Object.keys(settingsOfSessions),
          ].join(','),
        },
        '',
        /a pooler answers: add pgbouncer=true to the parameters of the URL\n$/,
      ],
      [
        'in statement mode',
        { pool_mode: 'statement' },
        'pgbouncer=true',
        /the pooler refuses transactions: set pool_mode = transaction there\n$/,
      ],
    ])('is refused with one line: %s', async (_name, settings, parameters, sentence) => {
      const { code, output } = await start(settings, parameters)
      expect(output).toMatch(sentence)
      expect(output).toMatch(/^DEAL_DATABASE_URL: [^\n]*\n$/)
      expect(code).toBe(1)
      await noLockStays()
    })

    it('serves in session mode, too', async () => {
      const other = await startPgBouncer(postgres.url, { pool_mode: 'session', default_pool_size: 30 })
      others.push(other)
      const database = open(other.pooled(postgres.url))
      await database.requireSuitable()
      await database.transaction(async (drizzle) => drizzle.execute('select 1'))
    })
  })
})
