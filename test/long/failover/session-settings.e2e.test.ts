/**
 * Settings of the role, the database or the server that change what statements mean and how answers look.
 * Administrators set them for other programs, or for people. The servers work the same under all of them, through a
 * pooler too.
 */
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../shared/platform/database/database.ts'
import { prepareDatabase } from '../../../shared/platform/database/prepare.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import type { Reply } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { type PgBouncer, pgbouncerInstalled, startPgBouncer } from '../../support/processes/stores/pgbouncer.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { migrateBoth } from '../../support/stores/migrate-both.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const binaries = findPostgresBinaries()

/** Each turned round. A session with PostgreSQL itself sets all of them. */
const turned: Readonly<Record<string, string>> = {
  datestyle: 'German',
  intervalstyle: 'iso_8601',
  timezone: 'Asia/Kathmandu',
  standard_conforming_strings: 'off',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  xmloption: 'document',
  xmlbinary: 'hex',
  lc_monetary: 'C.UTF-8',
  lc_numeric: 'C.UTF-8',
  lc_time: 'C.UTF-8',
  search_path: 'evil',
  array_nulls: 'off',
  transform_null_equals: 'on',
  backslash_quote: 'on',
  row_security: 'off',
  check_function_bodies: 'off',
  gin_fuzzy_search_limit: '1',
  default_transaction_deferrable: 'on',
  idle_session_timeout: '300',
}

/** Behind a pooler, no session can set these: limits are those of the role, and a start names the others. */
const limits: Readonly<Record<string, string>> = {
  statement_timeout: '30',
  idle_in_transaction_session_timeout: '30',
  lock_timeout: '1',
}
const decisive: Readonly<Record<string, string>> = {
  exit_on_error: 'on',
  default_transaction_isolation: 'serializable',
  default_transaction_read_only: 'on',
  client_min_messages: 'error',
}

/** Further ones that change nothing for the servers, or nothing but how long they take. */
const others: Readonly<Record<string, string>> = {
  client_encoding: 'LATIN1',
  synchronous_commit: 'off',
  escape_string_warning: 'off',
  quote_all_identifiers: 'on',
  default_text_search_config: 'pg_catalog.simple',
  plan_cache_mode: 'force_custom_plan',
  enable_indexscan: 'off',
  enable_seqscan: 'on',
  jit: 'on',
  jit_above_cost: '0',
  lc_messages: 'C',
  application_name: 'somebody',
}

describe.skipIf(binaries === undefined || !pgbouncerInstalled)('whatever a role, a database and a server set', () => {
  let postgres: PostgresServer
  let bouncer: PgBouncer
  let stack: Stack | undefined
  const opened: Database[] = []

  beforeAll(async () => {
    postgres = await PostgresServer.create(binaries ?? '')
    await postgres.query('create role keyhold login')
    bouncer = await startPgBouncer(postgres.url.replace('postgres@', 'keyhold@'))
  })
  afterEach(async () => {
    await stack?.close()
    stack = undefined
    await Promise.all(opened.splice(0).map((database) => database.close()))
    await postgres.query('alter role keyhold reset all')
  })
  afterAll(async () => {
    await bouncer?.dispose()
    await postgres?.remove()
  })

  const turn = async (settings: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(settings)) {
      await postgres.query(`alter role keyhold set ${name} = '${value}'`)
    }
  }
  const newDatabase = async (name: string): Promise<string> => {
    await postgres.query(`create database ${name} owner keyhold`)
    await postgres.query('create schema evil', name)
    return postgres.urlOf(name).replace('postgres@', 'keyhold@')
  }
  const open = (url: string): Database => {
    const database = openPostgres(url)
    opened.push(database)
    return database
  }

  it.each([
    ['with PostgreSQL itself', { ...turned, ...limits, ...decisive, ...others }, false],
    ['through a pooler', { ...turned, ...others }, true],
  ])('the journeys of callers are the same: %s', async (_, settings, isPooled) => {
    const url = await newDatabase(isPooled ? 'pooled' : 'direct')
    await turn(settings)
    await postgres.query(`alter database ${isPooled ? 'pooled' : 'direct'} set datestyle = 'SQL, DMY'`)
    const place = isPooled ? bouncer.pooled(url) : url
    stack = await openStack(async () => ({ ...(await openEmbedded()), openDatabase: () => openPostgres(place) }))
    const { auth, deal, clock } = stack
    const { access: token, refresh } = await stack.logIn('admin')
    // Through a pooler each statement is compiled, and a busy machine may not have done so in time.
    const unhurried = (send: () => Promise<Reply>) =>
      eventually(async () => {
        const reply = await send()
        if (isPooled) expect(reply.status, reply.text).not.toBe(503)
        return reply
      })
    const made = async (server: typeof auth, path: string, json: object, method = 'POST') => {
      const reply = await unhurried(() => server.send(path, { token, json, method }))
      expect([path, reply.status, reply.body]).toEqual([path, expect.toBeOneOf([200, 201]), expect.anything()])
      return reply.body
    }
    await made(auth, '/users', {
      username: 'zoë'.replace('ë', 'e'),
      password: 'a long enough password',
      roles: ['agent'],
    })
    await made(auth, '/roles', { name: 'null', rights: ['deal.read'] })
    await made(auth, '/users/zoe', { roles: ['agent', 'null'] }, 'PATCH')
    await made(auth, '/services', { name: 'a service', resourceServer: 'deals' })
    await made(auth, '/api-keys', { kind: 'hmac', name: 'a key' })
    expect((await auth.send('/refresh', { method: 'POST', token: refresh })).status).toBe(200)
    const { id } = await made(deal, '/rest/v1/deals', {
      name: 'Büro \\d 5 €',
      price: 12.5,
      completionDate: '2027-02-03',
    })
    await made(deal, `/rest/v1/deals/${id}/hold`, { reason: "it's \\ so" }, 'PUT')
    const pages = [
      [auth, ['/users', '/users/admin', '/roles', '/resource-servers', '/services', '/api-keys', '/audit', '/me']],
      [deal, ['/rest/v1/deals', `/rest/v1/deals/${id}`, `/rest/v1/deals/${id}/history`, '/rest/v1/deals?q=%5Cd']],
    ] as const
    for (const [server, paths] of pages) {
      for (const path of paths) {
        const reply = await unhurried(() => server.send(path, { token }))
        expect([path, reply.status]).toEqual([path, 200])
        const times = JSON.stringify(reply.body).matchAll(/"(?:createdAt|updatedAt|heldAt|lastUsedAt|at)":"([^"]*)"/g)
        for (const [, time = ''] of times) {
          expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
          // Keys of the tests, and so the entries about them, are older.
          if (path !== '/audit') expect(Math.abs(Date.parse(time) - clock.now())).toBeLessThan(600_000)
        }
      }
    }
    expect((await auth.send('/users/zoe', { token })).body).toMatchObject({ roles: ['agent', 'null'] })
    const read = await unhurried(() => deal.send(`/rest/v1/deals/${id}`, { token }))
    expect(read.body).toMatchObject({ name: 'Büro \\d 5 €', completionDate: '2027-02-03', holdReason: "it's \\ so" })
  })

  it('every session with PostgreSQL itself has the settings that statements rely on', async () => {
    const url = await newDatabase('sessions')
    await turn({ ...turned, ...limits, ...decisive })
    const database = open(url)
    const names = [...Object.keys(turned), ...Object.keys(limits), ...Object.keys(decisive)]
    const text = `select lower(name) as name, setting from pg_settings where lower(name) in (${names.map((name) => `'${name}'`)})`
    type Row = { readonly name: string; readonly setting: string }
    const rows = await Promise.all([
      database.query<Row>(text),
      database.write<Row>(text),
      database.drizzle.execute<Row & Record<string, unknown>>(sql.raw(text)),
      database.transaction((drizzle) => drizzle.execute<Row & Record<string, unknown>>(sql.raw(text))),
      database.readWithin<Row>(sql.raw(text), 5000),
      database.exclusively('settings', (drizzle) => drizzle.execute<Row & Record<string, unknown>>(sql.raw(text))),
    ])
    for (const each of rows) {
      const settings = [...(each as unknown as Row[])]
      expect(settings).toHaveLength(names.length)
      for (const { name, setting } of settings) {
        expect([name, setting]).not.toEqual([name, { ...turned, ...limits, ...decisive }[name]])
      }
    }
  })

  it.each([
    ['default_transaction_isolation', 'serializable', true],
    ['default_transaction_read_only', 'on', true],
    ['client_min_messages', 'error', true],
    ['exit_on_error', 'on', true],
    ['session_replication_role', 'replica', true],
    ['session_replication_role', 'replica', false],
  ])('a start names what no session can set: %s = %s, pooler: %s', async (name, value, isPooled) => {
    const url = await newDatabase(`${name}_${isPooled}`)
    await turn({ [name]: value })
    const database = open(isPooled ? bouncer.pooled(url) : url)
    await expect(prepareDatabase('DEAL_DATABASE_URL', () => migrateBoth(database))).rejects.toThrow(
      new RegExp(`^DEAL_DATABASE_URL: [^\\n]*sets ${name} = ${value}: run ALTER ROLE`),
    )
  })

  it('a role that owns its schemas and may make no other starts both servers', async () => {
    await postgres.query('create database schemas')
    for (const schema of ['auth', 'deals']) {
      await postgres.query(`create schema ${schema} authorization keyhold`, 'schemas')
    }
    const database = open(postgres.urlOf('schemas').replace('postgres@', 'keyhold@'))
    await migrateBoth(database)
    await migrateBoth(database)
    expect(await database.query('select count(*)::int as n from auth.users')).toEqual([{ n: expect.any(Number) }])
    await expect(database.query('create schema another')).rejects.toMatchObject({ sqlState: '42501' })
    // It may not make the extension either: searches do without the index.
    expect(await database.query("select from pg_indexes where indexname = 'deals_by_text'")).toEqual([])
  })

  it.each([
    ['LATIN1', true],
    ['SQL_ASCII', false],
  ])('a start refuses a database that cannot keep every name: %s', async (encoding, isPooled) => {
    const name = `in_${encoding.toLowerCase()}`
    await postgres.query(`create database ${name} owner keyhold encoding '${encoding}' locale 'C' template template0`)
    const url = postgres.urlOf(name).replace('postgres@', 'keyhold@')
    const database = open(isPooled ? bouncer.pooled(url) : url)
    await expect(prepareDatabase('DEAL_DATABASE_URL', () => migrateBoth(database))).rejects.toThrow(
      new RegExp(`^DEAL_DATABASE_URL: [^\\n]*encoding of the database is ${encoding}.* ENCODING 'UTF8'`),
    )
  })
})
