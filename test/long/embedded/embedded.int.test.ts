import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openEmbeddedEngine } from '../../../shared/platform/embedded/embedded.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { compiled } from '../../support/processes/compiled.ts'

const folder = join(mkdtempSync(join(tmpdir(), 'keyhold-embedded-')), 'postgres')

afterAll(() => rmSync(join(folder, '..'), { recursive: true, force: true }))

describe('a new data folder', () => {
  const identity = async (name: string): Promise<unknown> => {
    const engine = await openEmbeddedEngine(join(folder, '..', name))
    const database = engine.database()
    await database.query('create table own (n int)')
    const rows = await database.query('select system_identifier::text as id from pg_control_system()')
    await engine.close()
    return rows
  }

  it('is a copy of an empty one that was made before, for itself alone', async () => {
    expect(await identity('one')).toEqual(await identity('other'))
  })

  it('is made again when a process was killed while it made one', async () => {
    mkdirSync(join(folder, '../cut-off.new/base'), { recursive: true })
    writeFileSync(join(folder, '../cut-off.new/PG_VERSION'), '')
    expect(await identity('cut-off')).toEqual(await identity('whole'))
    expect(existsSync(join(folder, '../cut-off.new'))).toBe(false)
  })
})

describe('the embedded engine over a folder', () => {
  it('has every acknowledged row after its process was killed', async () => {
    const writer = fork(compiled('test/shared/platform/embedded/embedded-writer.ts'), [folder], { execArgv: [] })
    let acknowledged = 0
    const enough = new Promise<void>((resolve) => {
      writer.on('message', (n) => {
        acknowledged = Number(n)
        if (acknowledged === 50) resolve()
      })
    })
    await enough
    const ended = once(writer, 'exit')
    writer.kill('SIGKILL')
    await ended

    const engine = await openEmbeddedEngine(folder)
    const [row] = await engine.database().query<{ rows: number }>('select count(*)::int as rows from mark')
    expect(acknowledged).toBeGreaterThanOrEqual(50)
    expect(row?.rows).toBeGreaterThanOrEqual(acknowledged)
    await engine.close()
  })

  it('shows one server what the other has written, and refuses both once it is closed', async () => {
    const engine = await openEmbeddedEngine(folder)
    const [one, other] = [engine.database(), engine.database()]
    await one.query('insert into mark values (-1)')
    expect(await other.query('select n from mark where n = -1')).toEqual([{ n: -1 }])
    await one.close()
    await other.ping()
    await engine.close()
    await expect(other.ping()).rejects.toBeInstanceOf(Unavailable)
  })

  it('has few buffers, which it would clear at each start', async () => {
    const engine = await openEmbeddedEngine(folder)
    const rows = await engine.database().query("select current_setting('shared_buffers') as buffers")
    await engine.close()
    expect(rows).toEqual([{ buffers: '16MB' }])
  })
})
