/** The support of this folder: a standby follows, is cut off, and is promoted. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'

const binaries = findPostgresBinaries()

const timeline = 'select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline'

describe.skipIf(binaries === undefined)('a standby', () => {
  let primary: PostgresServer
  let standby: PostgresServer

  beforeAll(async () => {
    primary = await PostgresServer.create(binaries ?? '')
    standby = await primary.makeStandby()
  })

  afterAll(async () => {
    await standby?.remove()
    await primary?.remove()
  })

  it('has what its primary wrote, but nothing after it is cut off, and begins a timeline when it is promoted', async () => {
    await primary.query('create table notes as select 1 as note')
    await standby.catchUpWith(primary)
    await standby.cutOff()
    await primary.query('insert into notes values (2)')
    expect(await standby.query('select note from notes')).toEqual([{ note: 1 }])
    await expect(standby.query('insert into notes values (3)')).rejects.toMatchObject({ code: '25006' })

    await standby.promote()
    await standby.query('insert into notes values (3)')
    expect(await standby.query('select note from notes order by note')).toEqual([{ note: 1 }, { note: 3 }])
    expect(await primary.query(timeline)).toEqual([{ timeline: '00000001' }])
    expect(await standby.query(timeline)).toEqual([{ timeline: '00000002' }])
  })
})
