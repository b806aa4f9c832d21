import { setTimeout as pause } from 'node:timers/promises'
import { Command } from 'commander'
import { beforeEach, expect, it } from 'vitest'
import type { ChainedLog } from '../../../auth-server/audit/chained-log.ts'
import { dropEntries } from '../../../auth-server/audit/drop-entries.ts'
import { retryWhileHeld } from '../../../auth-server/audit/partitions.ts'
import { readEntries } from '../../../auth-server/audit/read-entries.ts'
import { verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { addAuditCommands } from '../../../auth-server/cli/commands/audit.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { Conflicted } from '../../../shared/platform/database/database.ts'
import type { Report } from '../../../shared/platform/terminal/report.ts'
import { databaseOfTest, describeDatabases } from '../../support/stores/own-database.ts'
import { createSettledLog } from '../support/settled-log.ts'
import { createTestClock } from '../support/test-clock.ts'

const keyText = (byte: number) => Buffer.alloc(32, byte).toString('base64url')
const [oldKey, newKey] = [parseSecretsKeys(keyText(7)), parseSecretsKeys(keyText(8))]
const bothKeys = parseSecretsKeys(`${keyText(8)},${keyText(7)}`)
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }
const { signal } = new AbortController()
const event = { actor: 'erin', action: 'user.changed', target: 'x', outcome: 'succeeded' }
const rest = { scheme: null, address: null, requestId: null }

describeDatabases('the drop of old audit entries', (open) => {
  const { database } = databaseOfTest(open)
  let clock: ReturnType<typeof createTestClock>
  let log: ChainedLog

  // Entries 1 to 10 are of November, 11 to 20 of December, 21 to 30 of January; 31 of February.
  beforeEach(async () => {
    clock = createTestClock(Date.UTC(2025, 10, 20))
    log = createSettledLog({ database, clock, log: quiet, secretsKeys: oldKey })
    for (let seq = 1; seq <= 31; seq += 1) {
      if (seq % 10 === 1 && seq > 1) clock.advance(30 * 86_400_000)
      await log.record({ ...event, ...rest, target: `user-${seq}`, reason: seq % 7 === 0 ? 'Größe "quoted"' : null })
    }
  })

  const ports = (secretsKeys = oldKey) => ({ database, secretsKeys, allSecretsKeys: bothKeys, signal })
  const drop = async (before: string) => (await dropEntries(ports(), before)).entries
  const verdict = (head?: { count: number; digest: string }) =>
    verifyChain({ database, secretsKeys: bothKeys, pageSize: 7 }, head)
  const left = async () => (await readEntries(database, { limit: 99 })).items.map(({ seq }) => seq)

  /** Runs a command of the group, as a person does. */
  const run = async (...parameters: string[]) => {
    let report: Report | undefined
    const program = new Command('ops').exitOverride().configureOutput({ writeErr: () => undefined })
    addAuditCommands(program, {
      openAuthData: (work) => work({ database, secretsKeys: oldKey, allSecretsKeys: bothKeys }),
      clock,
      operator: 'erin',
      report:
        (work) =>
        async (...given) => {
          report = await work(...given)
        },
      interrupted: () => signal,
    })
    await program.parseAsync(['audit', ...parameters], { from: 'user' })
    return report
  }
  const withoutTriggers = (sql: string) =>
    database.transaction(async (transaction) => {
      await transaction.execute('alter table auth.audit_entries disable trigger user')
      await transaction.execute(sql)
      await transaction.execute('alter table auth.audit_entries enable trigger user')
    })

  it('removes the entries before a date, and says so in the log, which goes on and is green', async () => {
    const { sound: before } = await verdict()
    const report = await run('drop', '--before', '2026-01-01')
    expect(report?.json).toMatchObject({ dropped: 20, head: { count: 20 } })
    expect(report?.text).toMatch(/^Dropped: 20 entries, up to 20:\S{43}$/)
    const { sound, dropped, fault } = await verdict(before)
    expect({ count: sound.count, dropped: dropped?.count, fault }).toEqual({ count: 32, dropped: 20, fault: undefined })
    const text = (await run('verify'))?.text ?? ''
    expect(text).toMatch(/^In order: 12 entries\. The head is 32:\S+\nDropped before them, up to 20:\S+$/)
    expect((await left())[0]).toBe(21)
    const about = await readEntries(database, { limit: 9, filter: { target: 'user-25' } })
    expect(about.items.map(({ seq }) => seq)).toEqual([25])
    const from = await readEntries(database, { limit: 1, order: 'desc', filter: { to: '2026-02-01T00:00:00Z' } })
    expect(from).toMatchObject({ items: [{ seq: 30 }], next: 30 })
    expect((await readEntries(database, { limit: 9, filter: { target: 'user-5' } })).items).toEqual([])
    const own = await readEntries(database, { limit: 9, filter: { action: 'audit.*' } })
    expect(own.items).toMatchObject([{ action: 'audit.dropped', actor: 'erin', target: '2026-01-01' }])
  })

  it('goes on with a later date, and has nothing to do for an earlier one', async () => {
    await drop('2026-01-01')
    await log.record({ ...event, ...rest })
    expect(await drop('2025-12-24')).toBe(0)
    expect(await drop('2026-02-01')).toBe(10)
    expect(await verdict()).toMatchObject({ dropped: { count: 30 }, fault: undefined })
    expect((await run('drop', '--before', '2026-02-01'))?.text).toBe('There is nothing to drop.')
    clock.advance(30 * 86_400_000)
    await drop('2026-03-20')
    expect(await left()).toEqual([])
    await log.record({ ...event, ...rest })
    expect(await verdict()).toMatchObject({ sound: { count: 33 }, dropped: { count: 32 }, fault: undefined })
  })

  it('keeps old entries that came late, behind a younger one', async () => {
    const late = createTestClock(Date.UTC(2026, 0, 31))
    await createSettledLog({ database, clock: late, log: quiet, secretsKeys: oldKey }).record({ ...event, ...rest })
    expect(await drop('2026-02-01')).toBe(30)
    expect((await left()).slice(0, 2)).toEqual([31, 32])
  })

  it('is green at any time while entries are dropped and others are written, and after an interruption', async () => {
    const abort = new AbortController()
    const onProgress = (done: number) => void (done >= 6 && abort.abort(new Error('Interrupted.')))
    const interrupted = dropEntries({ ...ports(), signal: abort.signal, batchSize: 3, onProgress }, '2026-02-01')
    await expect(interrupted).rejects.toThrow('Interrupted.')
    expect(await verdict()).toMatchObject({ dropped: { count: 6 }, fault: undefined })
    const others = [oldKey, bothKeys].map((secretsKeys) =>
      createSettledLog({ database, clock, log: quiet, secretsKeys }),
    )
    const writing = Promise.all(
      Array.from({ length: 20 }, (_, index) => others[index % 2]?.record({ ...event, ...rest })),
    )
    let isDropping = true
    const dropping = dropEntries({ ...ports(), batchSize: 2 }, '2026-02-01').finally(() => (isDropping = false))
    while (isDropping) {
      expect((await verdict()).fault).toBeUndefined()
      // The embedded engine answers without leaving time to timers.
      await pause(1)
    }
    expect((await dropping).entries).toBe(24)
    await writing
    expect(await verdict()).toMatchObject({ sound: { count: 51 }, dropped: { count: 30 }, fault: undefined })
  })

  it('ends at once when it is interrupted while it verifies, or while others use the log', async () => {
    const abort = new AbortController()
    const interrupt = () => abort.abort(new Error('Interrupted.'))
    const held = new Conflicted('55P03', 'held')
    const waiting = expect(retryWhileHeld(() => Promise.reject(held), abort.signal)).rejects.toThrow('Interrupted.')
    await withoutTriggers('delete from auth.audit_entries where seq = 31')
    const dropping = dropEntries({ ...ports(), signal: abort.signal, onVerified: interrupt }, '2026-03-20')
    // Afterwards it would find that the last entry is missing.
    await expect(dropping).rejects.toThrow('Interrupted.')
    await waiting
  })

  it('refuses to delete or to change an entry that was not dropped', async () => {
    const refused = async (sql: string) => {
      await expect(database.write(sql)).rejects.toMatchObject({ sqlState: '23001' })
    }
    await refused('delete from auth.audit_entries where seq = 1')
    await drop('2025-12-01')
    await refused('delete from auth.audit_entries')
    await refused('delete from auth.audit_entries where seq = 11')
    await refused(`update auth.audit_entries set actor = 'nobody' where seq = 11`)
    await refused('truncate auth.audit_entries')
    expect((await readEntries(database, { limit: 1 })).items).toMatchObject([{ seq: 11, actor: 'erin' }])
  })

  it('is red when the beginning of the log is forged', async () => {
    const rowAt = async () =>
      (await database.query<{ row: string }>('select to_json(a)::text as row from auth.audit_archive a'))[0]?.row ?? ''
    const put = (row: string) =>
      database.write(
        `update auth.audit_archive a set (count, mac, key_id, seal) = (select count, mac, key_id, seal
          from json_populate_record(null::auth.audit_archive, $1::text::json))`,
        [row],
      )
    const empty = await rowAt()
    await drop('2025-12-01')
    const one = await rowAt()
    await drop('2026-01-01')
    const two = await rowAt()
    const [{ mac = '' } = {}] = await database.query<{ mac: string }>(
      'select mac from auth.audit_entries where seq = 25',
    )
    // Hides entries behind a head that the forger has no key for.
    await put(JSON.stringify({ ...JSON.parse(two), count: 25, mac }))
    await database.write('delete from auth.audit_entries where seq <= 22')
    expect((await verdict()).fault).toEqual({ fault: 'broken-start', seq: 25 })
    await expect(drop('2026-02-01')).rejects.toThrow(/is not what was written\. Nothing was dropped\.$/)
    await put(JSON.stringify({ ...JSON.parse(two), key_id: 'unknown' }))
    expect((await verdict()).fault).toEqual({ fault: 'unknown-start-key', seq: 20 })
    await put(two)
    expect((await verdict()).fault).toEqual({ fault: 'missing', seq: 21 })
    await put(one)
    expect((await verdict()).fault).toEqual({ fault: 'missing', seq: 11 })
    await put(empty)
    expect((await verdict()).fault).toEqual({ fault: 'missing', seq: 1 })
  })

  it('is red when an entry stands before the beginning, and says when a head is too old for the database', async () => {
    const { sound: old } = await verdict()
    await drop('2026-01-01')
    await withoutTriggers(`insert into auth.audit_entries (seq, at, action, outcome, key_id, mac)
      values (20, now(), 'user.changed', 'succeeded', 'x', 'y')`)
    expect((await verdict()).fault).toEqual({ fault: 'before-start', seq: 20 })
    await database.write('delete from auth.audit_entries where seq = 20')
    expect((await verdict(old)).fault).toBeUndefined()
    expect((await verdict({ count: 5, digest: 'x' })).fault).toEqual({ fault: 'head-dropped', seq: 5 })
    const { dropped } = await verdict()
    expect((await verdict(dropped)).fault).toBeUndefined()
    expect((await verdict({ count: 20, digest: 'x' })).fault).toEqual({ fault: 'other-log', seq: 20 })
  })

  it('drops nothing when the chain up to the date, or at it, is broken, and does not look at what comes later', async () => {
    await withoutTriggers(`update auth.audit_entries set actor = 'nobody' where seq = 25`)
    expect(await drop('2025-12-01')).toBe(10)
    await withoutTriggers(`update auth.audit_entries set actor = 'nobody' where seq = 13`)
    const broken = 'entry 13, or the one before it, is not what was written. Nothing was dropped.'
    await expect(run('drop', '--before', '2026-01-01')).rejects.toThrow(broken)
    expect((await left())[0]).toBe(11)
    await withoutTriggers(`update auth.audit_entries set actor = 'erin' where seq = 13`)
    await withoutTriggers('delete from auth.audit_entries where seq = 20')
    await expect(drop('2026-01-01')).rejects.toThrow('entry 20 is missing, though there are later ones.')
    await withoutTriggers('delete from auth.audit_entries where seq > 19')
    await expect(drop('2026-03-01')).rejects.toThrow('the log ends before entry 20, which was there once.')
    expect((await left())[0]).toBe(11)
  })

  it('drops nothing that a shifted time makes old, or hides', async () => {
    await withoutTriggers(`update auth.audit_entries set at = '2025-11-30' where seq = 11`)
    await expect(drop('2025-12-01')).rejects.toThrow('entry 11, or the one before it, is not what was written.')
    await withoutTriggers(`update auth.audit_entries set at = '2026-02-01' where seq = 5`)
    await expect(drop('2025-12-01')).rejects.toThrow('entry 5, or the one before it, is not what was written.')
    expect((await left()).length).toBe(31)
  })

  it('still knows what is logged only once', async () => {
    const made = { ...event, ...rest, action: 'key.generated', target: 'Kid-1', at: '2025-11-20T00:00:00.000Z' }
    expect(await log.recordOnce([made])).toHaveLength(1)
    clock.advance(60 * 86_400_000)
    await log.record({ ...event, ...rest })
    expect(await drop('2026-03-01')).toBe(32)
    expect(await log.recordOnce([made])).toEqual([])
    expect(await log.recordOnce([{ ...made, target: 'Kid-2' }])).toHaveLength(1)
  })

  it('is refused for a day that has not come, without a date, and with a key of others', async () => {
    await expect(run('drop', '--before', '2026-03-20')).rejects.toThrow(/has not come yet/)
    await expect(run('drop', '--before', '2026-01')).rejects.toThrow(/such as 2026-01-01/)
    await expect(run('drop', '--before', '2026-02-30')).rejects.toThrow(/such as 2026-01-01/)
    await expect(run('drop')).rejects.toThrow(/--before/)
    const foreign = { database, secretsKeys: newKey, allSecretsKeys: newKey, signal }
    await expect(dropEntries(foreign, '2026-01-01')).rejects.toThrow(/entry 1 was written under/)
    expect((await left()).length).toBe(31)
  })
})
