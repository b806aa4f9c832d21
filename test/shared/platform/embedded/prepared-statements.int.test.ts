import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PreparedStatements } from '../../../../shared/platform/embedded/prepared-statements.ts'
import { startTestEngine } from '../../../support/processes/stores/embedded-engine.ts'

/** Those of the engine: their names are its own. */
const statements = new PreparedStatements()
let engine: PGlite
beforeAll(async () => {
  engine = await startTestEngine()
})
afterAll(() => engine.close())

const known = async () =>
  (await engine.query<{ statement: string }>('select statement from pg_prepared_statements')).rows.map(
    (row) => row.statement,
  )

it('parses a statement once, and runs it for other parameters', async () => {
  for (const given of ['1', null, '3'])
    expect(await statements.run(engine, 'select $1::int as given', [given])).toEqual([
      { given: given && Number(given) },
    ])
  expect(await known()).toEqual(['select $1::int as given'])
})

it('gives the columns that a table has now', async () => {
  await engine.exec('create table growing (a int); insert into growing values (1)')
  const rows = () => statements.run(engine, 'select * from growing', [])
  expect(await rows()).toEqual([{ a: 1 }])
  await engine.exec('alter table growing add column b int default 2')
  expect(await rows()).toEqual([{ a: 1, b: 2 }])
  expect(await rows()).toEqual([{ a: 1, b: 2 }])
})

it('goes on after a statement that is refused, when it is parsed or when it runs', async () => {
  const half = (given: string) => statements.run(engine, 'select 1 / $1::int as half', [given])
  for (const _time of [1, 2]) {
    await expect(half('0')).rejects.toMatchObject({ code: '22012' })
    await expect(half('no number')).rejects.toMatchObject({ code: '22P02' })
    await expect(statements.run(engine, 'select nothing', [])).rejects.toMatchObject({ code: '42703' })
    expect(await half('1')).toEqual([{ half: 1 }])
  }
})

it('keeps those that were used last, and plans them again from time to time', async () => {
  let plannedAgain = 0
  const observed = new Proxy(engine, {
    get: (_engine, name) => {
      if (name !== 'execProtocolStream') return Reflect.get(engine, name).bind?.(engine) ?? Reflect.get(engine, name)
      return (...sent: Parameters<PGlite['execProtocolStream']>) => {
        if (Buffer.from(sent[0]).includes('discard plans')) plannedAgain += 1
        return engine.execProtocolStream(...sent)
      }
    },
  })
  for (let at = 0; at < 600; at += 1) {
    await statements.run(observed, `select ${at} as at`, [])
    expect(await statements.run(observed, 'select -1 as often', [])).toEqual([{ often: -1 }])
  }
  const kept = await known()
  expect(kept.length).toBe(500)
  expect(kept).toEqual(expect.arrayContaining(['select -1 as often', 'select 599 as at', 'select 101 as at']))
  expect(plannedAgain).toBe(1)
})
