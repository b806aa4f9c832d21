import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { archiveMonths } from '../../../auth-server/audit/archive-months.ts'
import { createChainedLog } from '../../../auth-server/audit/chained-log.ts'
import { createJournal, hasJournal, type Pending } from '../../../auth-server/audit/journal.ts'
import { readEntries } from '../../../auth-server/audit/read-entries.ts'
import { removeArchived } from '../../../auth-server/audit/remove-archived.ts'
import { verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { rfc3339, systemClock } from '../../../shared/platform/clock.ts'
import { describeOnDatabases, type TestDatabase } from '../support/auth-database.ts'

const secretsKeys = parseSecretsKeys(Buffer.alloc(32, 7).toString('base64url'))

const pending = (target: string): Pending => ({
  at: rfc3339(systemClock.now()),
  actor: 'admin',
  action: 'user.changed',
  target,
  outcome: 'succeeded',
  count: 1,
  scheme: 'bearer',
  address: '203.0.113.7',
  requestId: '0191e7a0-0000-7000-8000-000000000000',
  reason: null,
})
const names = (begin: string, count: number) => Array.from({ length: count }, (_, index) => `${begin}-${index}`)

describeOnDatabases('the journal of the audit log', (open) => {
  let opened: TestDatabase
  let errors: unknown[] = []

  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.dispose())
  beforeEach(async () => {
    errors = []
    await tamper('delete from auth.audit_entries')
    await tamper("update auth.audit_head set count = 0, mac = ''")
    await tamper('delete from auth.audit_journal')
    await tamper('delete from auth.audit_writers')
    await tamper("update auth.audit_archive set count = 0, mac = '', month = '', key_id = '', seal = ''")
  })

  const tamper = (sql: string) =>
    opened.database.transaction(async (transaction) => {
      await transaction.execute('alter table auth.audit_entries disable trigger user')
      await transaction.execute(sql)
      await transaction.execute('alter table auth.audit_entries enable trigger user')
    })
  const log = { info: () => undefined, warn: () => undefined, error: (what: unknown) => void errors.push(what) }
  const createLog = () => createChainedLog({ database: opened.database, clock: systemClock, log, secretsKeys })
  const createWriter = () => createJournal({ database: opened.database, secretsKeys })
  const verify = () => verifyChain({ database: opened.database, secretsKeys })
  const targets = async () => {
    const { items } = await readEntries(opened.database, { limit: 1_000 })
    expect(items.map(({ seq }) => seq)).toEqual(items.map((_, index) => index + 1))
    return items.map(({ target }) => target)
  }

  it('keeps all that servers write at the same time, once each, and what each of them wrote in its order', async () => {
    const logs = [createLog(), createLog(), createLog()]
    const record = async (index: number) => {
      for (const target of names(`server-${index}`, 30)) await logs[index]?.record({ ...pending(target) })
    }
    await Promise.all(logs.map((_, index) => record(index)))
    await Promise.all(logs.map((one) => one.settle()))
    const found = await targets()
    expect(found).toHaveLength(90)
    for (const index of [0, 1, 2]) {
      const begin = `server-${index}-`
      expect(found.filter((target) => target?.startsWith(begin))).toEqual(names(`server-${index}`, 30))
    }
    expect((await verify()).fault).toBeUndefined()
  })

  it('is chained before what comes later, whichever server wrote it and died', async () => {
    const dead = createWriter()
    await dead.add([pending('first'), pending('second')])
    await dead.add([pending('third')])
    expect(await targets()).toEqual([])
    const server = createLog()
    await server.record(pending('fourth'))
    expect(await server.head()).toMatchObject({ count: 4 })
    expect(await targets()).toEqual(['first', 'second', 'third', 'fourth'])
    expect(await hasJournal(opened.database)).toBe(false)
    await dead.add([pending('fifth')])
    await Promise.all([createLog().settle(), createLog().settle(), server.settle()])
    expect(await targets()).toEqual(['first', 'second', 'third', 'fourth', 'fifth'])
    expect((await verify()).fault).toBeUndefined()
  })

  it('is chained over batches of any size', async () => {
    const [one, other] = [createWriter(), createWriter()]
    for (let round = 0; round < 6; round += 1) {
      await one.add(names(`one-${round}`, 200).map(pending))
      await other.add(names(`other-${round}`, 200).map(pending))
    }
    await createLog().settle()
    expect((await createLog().head()).count).toBe(2_400)
    expect((await verify()).fault).toBeUndefined()
  })

  it('is chained behind a damage of any length', async () => {
    const bad = createWriter()
    for (let round = 0; round < 6; round += 1) await bad.add(names(`bad-${round}`, 200).map(pending))
    await tamper('delete from auth.audit_journal where number = 1')
    await createWriter().add(names('good', 2).map(pending))
    await createLog().settle()
    expect(await targets()).toEqual(['good-0', 'good-1'])
    expect((await verify()).fault).toEqual({ fault: 'journal', seq: 3 })
  })

  const copyRows = (table: string) => opened.database.query<object>(`select to_json(r)::text as row from ${table} r`)
  const putBack = (table: string, rows: readonly object[]) =>
    tamper(
      `insert into ${table} overriding system value select p.* from json_populate_recordset(null::${table},
        '[${rows.map((row) => Object.values(row)).join(',')}]') p on conflict do nothing`,
    )

  it.each([
    ['', { fault: 'journal', seq: 5 }],
    [
      `insert into auth.audit_writers select writer, number, mac from auth.audit_journal where number = 3
        on conflict (writer) do update set number = excluded.number, mac = excluded.mac;
        delete from auth.audit_journal where number < 4`,
      { fault: 'broken-archive', seq: 0 },
    ],
  ])(
    'is not chained a second time, and says so, when true entries are put back, and the place of their writer: %s',
    async (place, fault) => {
      await createWriter().add(names('true', 4).map(pending))
      const rows = await copyRows('auth.audit_journal')
      await createLog().settle()
      await putBack('auth.audit_journal', rows)
      for (const sql of place.split(';')) if (sql !== '') await tamper(sql)
      await createLog().settle()
      expect(await targets()).toEqual(names('true', 4))
      expect(errors).toHaveLength(1)
      expect((await verify()).fault).toEqual(fault)
    },
  )

  it('is found by the check when it was chained a second time because the log was changed for that moment', async () => {
    const writer = createWriter()
    await writer.add(names('true', 4).map(pending))
    const rows = await copyRows('auth.audit_journal')
    await createLog().settle()
    const marks = await opened.database.query<{ row: string }>(
      'select to_json(e)::text as row from auth.audit_entries e where writer is not null',
    )
    expect(marks).toHaveLength(1)
    await tamper('update auth.audit_entries set writer = null, writer_first = null, writer_last = null')
    await putBack('auth.audit_journal', rows)
    await writer.add([pending('fifth')])
    await createLog().settle()
    expect(await targets()).toEqual([...names('true', 4), ...names('true', 4), 'fifth'])
    await tamper(`update auth.audit_entries e set (writer, writer_first, writer_last) =
      (select writer, writer_first, writer_last from json_populate_record(null::auth.audit_entries, '${marks[0]?.row}'))
      where seq = 4`)
    expect((await verify()).fault).toEqual({ fault: 'journal-again', seq: 9 })
  })

  const archiveAll = async (before: string) => {
    const directory = await mkdtemp(join(tmpdir(), 'keyhold-journal-'))
    const ports = { ...opened, secretsKeys, allSecretsKeys: secretsKeys, signal: new AbortController().signal }
    const removed = await removeArchived(ports, await archiveMonths(ports, { before, directory }))
    await rm(directory, { recursive: true })
    return removed
  }

  it('is not chained a second time when the entries are archived', async () => {
    const writer = createWriter()
    await writer.add([pending('first')])
    const rows = await copyRows('auth.audit_journal')
    await createLog().settle()
    expect(await archiveAll('2998-01')).toBe(1)
    await putBack('auth.audit_journal', rows)
    await writer.add([pending('second')])
    await createLog().settle()
    expect(await verify()).toMatchObject({ sound: { count: 1 }, fault: { fault: 'journal', seq: 2 } })
    await tamper('delete from auth.audit_journal where number = 1')
    await createLog().settle()
    expect(await verify()).toMatchObject({ sound: { count: 2 }, fault: undefined })
    expect(await archiveAll('2999-01')).toBe(1)
    // Who changes for a moment what is known of writers has them chained, and is found.
    const places = await copyRows('auth.audit_writers')
    await tamper('delete from auth.audit_writers')
    expect((await verify()).fault).toEqual({ fault: 'broken-archive', seq: 2 })
    await putBack('auth.audit_journal', rows)
    await createLog().settle()
    await putBack('auth.audit_writers', places)
    expect((await verify()).fault).toEqual({ fault: 'journal-again', seq: 3 })
  })

  it.each([
    ['an entry was changed', `update auth.audit_journal set entry = '{"actor": "mallory"}' where number = 2`],
    [
      'a member of an entry was changed',
      "update auth.audit_journal set entry = replace(entry::text, 'bad-1', 'bad-x')::json where number = 2",
    ],
    ['an entry was removed', 'delete from auth.audit_journal where number = 2'],
    ['the first entry was removed', 'delete from auth.audit_journal where number = 1'],
    ['entries changed places', 'update auth.audit_journal set number = -number where number = 1'],
  ])('is never chained behind a damage, and says so, while other servers go on: %s', async (_what, sql) => {
    await createWriter().add(names('bad', 4).map(pending))
    await tamper(sql)
    await createWriter().add(names('good', 2).map(pending))
    const server = createLog()
    await server.settle()
    await server.settle()
    const found = await targets()
    expect(found.filter((target) => target?.startsWith('good'))).toEqual(['good-0', 'good-1'])
    expect(found.length).toBeLessThan(4)
    expect(errors).toHaveLength(1)
    const { sound, fault } = await verify()
    expect(fault).toEqual({ fault: 'journal', seq: sound.count + 1 })
  })
})
