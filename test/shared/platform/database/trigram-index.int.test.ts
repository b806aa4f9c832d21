import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Database } from '../../../../shared/platform/database/database.ts'
import { createBackgroundIndex, ensureTrigramIndex } from '../../../../shared/platform/database/trigram-index.ts'
import { openPostgres } from '../../../../shared/platform/postgres/postgres.ts'
import { eventually } from '../../../support/eventually.ts'
import { type Backend, describeBackends } from '../../../support/stores/backends.ts'

const index = { schema: 'indexed', table: 'texts', name: 'texts_by_part', columns: ['a', 'b'], where: 'a is not null' }

describeBackends('an index for parts of texts', (openBackend) => {
  let backend: Backend
  let database: Database
  let warnings: string[] = []
  const log = { info: () => undefined, warn: (_: object, message?: string) => void warnings.push(String(message)) }
  const inBackground = (on: Database = database) =>
    createBackgroundIndex({ database: on, log: log as never, retryMs: 20 }, index)
  const run = (text: string, on = database) =>
    on.exclusivelyIfFree(text, async (_, runAlone) => runAlone(text)).then((ran) => expect(ran).toBe(true))
  const definition = async () => {
    const text = `select indexdef, indisvalid as valid from pg_indexes
      join pg_index on indexrelid = format('%I.%I', schemaname, indexname)::regclass where indexname = $1`
    return (await database.query<{ indexdef: string; valid: boolean }>(text, [index.name]))[0]
  }

  beforeAll(async () => {
    backend = await openBackend()
    database = backend.openDatabase()
    await run('create schema indexed')
    await run('create table indexed.texts (a text, b text)')
  })
  afterAll(async () => {
    await database.close()
    await backend.close()
  })
  beforeEach(async () => {
    warnings = []
    await run('drop index if exists indexed.texts_by_part')
  })

  it('is made once, and found from then on', async () => {
    expect(await ensureTrigramIndex(database, index)).toBe('made')
    expect(await ensureTrigramIndex(database, index)).toBe('there')
    expect(await definition()).toMatchObject({ valid: true, indexdef: expect.stringMatching(/gin_trgm_ops, b /) })
  })

  it('is made by one of several servers that start together', async () => {
    const others = [backend.openDatabase(), backend.openDatabase()]
    const states = await Promise.all([database, ...others].map((one) => ensureTrigramIndex(one, index)))
    expect(states.filter((state) => state === 'made')).toHaveLength(1)
    const late = inBackground(others[0])
    late.start()
    await eventually(async () => expect(await late.attempt()).toBe(true))
    late.stop()
    await Promise.all(others.map((other) => other.close()))
  })

  it('is made anew when a build was interrupted', async () => {
    await ensureTrigramIndex(database, index)
    await run(`update pg_index set indisvalid = false where indexrelid = 'indexed.texts_by_part'::regclass`)
    expect((await definition())?.valid).toBe(false)
    expect(await ensureTrigramIndex(database, index)).toBe('made')
    expect((await definition())?.valid).toBe(true)
  })

  it('is left out, with one line in the log, where PostgreSQL refuses it', async () => {
    const attempt = inBackground().attempt
    await run('alter table indexed.texts rename to hidden')
    expect(await attempt()).toBe(true)
    await run('alter table indexed.hidden rename to texts')
    expect(warnings).toEqual(['Searches read all rows: the index for them cannot be made'])
  })

  it('waits for a database that is away', async () => {
    const away = openPostgres('postgres://postgres@127.0.0.1:1/none')
    expect(await inBackground(away).attempt()).toBe(false)
    expect(warnings).toEqual([])
    await away.close()
  })
})
