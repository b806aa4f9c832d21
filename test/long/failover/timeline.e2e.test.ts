/** The timeline, as servers read it: by any role, not on a standby, another one after a promotion. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../shared/platform/database/database.ts'
import { prepareDatabase } from '../../../shared/platform/database/prepare.ts'
import { readPresentHistory } from '../../../shared/platform/history/history.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { migrateBoth } from '../../support/stores/migrate-both.ts'

const binaries = findPostgresBinaries()

describe.skipIf(binaries === undefined)('the timeline of a PostgreSQL server', () => {
  let primary: PostgresServer
  let standby: PostgresServer

  beforeAll(async () => {
    primary = await PostgresServer.create(binaries ?? '')
    await primary.query('create role keyhold login')
    standby = await primary.makeStandby()
  })
  afterAll(async () => {
    await standby?.remove()
    await primary?.remove()
  })

  const asKeyhold = async <Result>(
    server: PostgresServer,
    work: (database: Database) => Promise<Result>,
  ): Promise<Result> => {
    const database = openPostgres(server.url.replace('postgres@', 'keyhold@'))
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  }

  it('is read by a role without any right of its own, and is the same after a restart and a crash', async () => {
    const timeline = await asKeyhold(primary, readPresentHistory)
    expect(timeline).toMatch(/^\d{19}\.00000001$/)
    await primary.stop()
    await primary.start()
    expect(await asKeyhold(primary, readPresentHistory)).toBe(timeline)
    await primary.kill()
    await primary.start()
    expect(await asKeyhold(primary, readPresentHistory)).toBe(timeline)
  })

  it('is none on a standby, and another one as soon as it is promoted', async () => {
    const [former] = (await asKeyhold(primary, readPresentHistory)).split('.')
    await expect(asKeyhold(standby, readPresentHistory)).rejects.toThrow(Unavailable)
    await standby.cutOff()
    await standby.promote()
    expect(await asKeyhold(standby, readPresentHistory)).toBe(`${former}.00000002`)
  })

  it('is needed at the start: a role that may not read it is refused in one line', async () => {
    await primary.query('revoke execute on function pg_control_system() from public')
    const start = (database: Database) => prepareDatabase('DEAL_DATABASE_URL', () => migrateBoth(database))
    await expect(asKeyhold(primary, start)).rejects.toThrow(
      /^DEAL_DATABASE_URL: .+: permission denied for function pg_control_system \(42501\)$/,
    )
  })
})
