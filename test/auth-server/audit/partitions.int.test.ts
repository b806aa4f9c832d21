import { sql } from 'drizzle-orm'
import { beforeEach, expect, it } from 'vitest'
import { dropEntries } from '../../../auth-server/audit/drop-entries.ts'
import { cutAuditLog, readPartitions, retryWhileHeld } from '../../../auth-server/audit/partitions.ts'
import { readEntries } from '../../../auth-server/audit/read-entries.ts'
import { verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { createHousekeeping } from '../../../shared/platform/database/housekeeping.ts'
import { databaseOfTest, describeDatabases } from '../../support/stores/own-database.ts'
import { createSettledLog } from '../support/settled-log.ts'
import { createTestClock } from '../support/test-clock.ts'

const secretsKeys = parseSecretsKeys(Buffer.alloc(32, 7).toString('base64url'))
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }
const nobody = { actor: 'erin', outcome: 'succeeded', scheme: null, address: null, requestId: null }

describeDatabases('the partitions of the audit log', (open) => {
  const { database } = databaseOfTest(open)
  let clock: ReturnType<typeof createTestClock>
  let warnings: unknown[] = []

  beforeEach(() => {
    clock = createTestClock(Date.UTC(2025, 10, 20))
    warnings = []
  })

  const createLog = () => createSettledLog({ database, clock, log: quiet, secretsKeys })
  const write = async (count: number, action = 'user.changed') => {
    const log = createLog()
    for (let n = 0; n < count; n += 1) await log.record({ ...nobody, action, target: `user-${n}` })
  }
  const keepHouse = () =>
    createHousekeeping({
      database,
      clock,
      name: 'tests',
      jobs: [],
      chores: [cutAuditLog],
      log: { info: () => undefined, warn: (content: unknown) => void warnings.push(content) },
    }).runOnce()
  const cut = () =>
    database.transaction(async (transaction) => {
      await transaction.execute(sql`select auth.cut_audit_entries()`)
    })
  const nextMonth = () => clock.advance(30 * 86_400_000)
  const bounds = async () => (await readPartitions(database)).map(({ first, behind }) => `${first} ${behind}`)
  const verdict = () => verifyChain({ database, secretsKeys })
  /** How many entries were gone after each step. */
  const drop = async (before: string, mostCopied = 20_000) => {
    const ports = { database, secretsKeys, allSecretsKeys: secretsKeys, signal: new AbortController().signal }
    const steps: number[] = []
    const onProgress = (done: number) => void steps.push(done)
    await dropEntries({ ...ports, batchSize: 3, mostCopied, onProgress }, before)
    await createLog().settle()
    return steps
  }

  it('begin with a month, and never without entries', async () => {
    await keepHouse()
    await write(4)
    await keepHouse()
    expect(await bounds()).toEqual(['1 null'])
    nextMonth()
    await keepHouse()
    await keepHouse()
    expect(await bounds()).toEqual(['1 5', '5 null'])
    nextMonth()
    await keepHouse()
    await write(2)
    nextMonth()
    await keepHouse()
    await write(1)
    expect(await bounds()).toEqual(['1 5', '5 7', '7 null'])
    expect(await verdict()).toMatchObject({ sound: { count: 7 }, fault: undefined })
    const { items } = await readEntries(database, { limit: 9, order: 'desc', filter: { target: 'user-0' } })
    expect(items.map(({ seq }) => seq)).toEqual([7, 5, 1])
  })

  it('end when they have many entries, and not while they take long to read', async () => {
    await write(1)
    await database.write('update auth.audit_head set count = 5000000')
    await keepHouse()
    expect(await bounds()).toEqual(['1 null'])
    await database.write('update auth.audit_head set count = 5000001')
    let time = 0
    const slow = { ...clock, monotonic: () => (time += 3_000) }
    await expect(cutAuditLog.run(database.drizzle, slow)).rejects.toThrow(
      'partition auth.audit_entries_from_1 was not closed: reading it takes 3000 ms',
    )
    expect(await bounds()).toEqual(['1 null'])
    await keepHouse()
    expect(await bounds()).toEqual(['1 5000002', '5000002 null'])
  })

  it('lose no entry that servers write while one ends', async () => {
    await write(1)
    const logs = [createLog(), createLog(), createLog()]
    let isWriting = true
    const writing = Promise.all(
      Array.from({ length: 120 }, (_, n) =>
        logs[n % 3]?.record({ ...nobody, action: 'user.changed', target: `u-${n}` }),
      ),
    ).finally(() => (isWriting = false))
    for (let cuts = 0; isWriting && cuts < 20; cuts += 1) {
      await retryWhileHeld(cut)
    }
    await writing
    await Promise.all(logs.map((log) => log.settle()))
    expect(await verdict()).toMatchObject({ sound: { count: 121 }, fault: undefined })
    expect((await bounds()).length).toBeGreaterThan(1)
  })

  it('are dropped with their months, in one step each; entries of the next month stay', async () => {
    await write(10, 'key.generated')
    nextMonth()
    // Written before housekeeping has run.
    await write(2)
    await keepHouse()
    await write(10)
    nextMonth()
    await keepHouse()
    await write(3)
    expect(await bounds()).toEqual(['1 13', '13 23', '23 null'])
    expect(await drop('2025-12-01')).toEqual([10])
    expect(await bounds()).toEqual(['11 13', '13 23', '23 null'])
    expect(await verdict()).toMatchObject({ sound: { count: 25 }, dropped: { count: 10 }, fault: undefined })
    expect(await drop('2026-01-01')).toEqual([2, 12])
    expect(await bounds()).toEqual(['23 null'])
    expect(await verdict()).toMatchObject({ sound: { count: 25 }, dropped: { count: 22 }, fault: undefined })
    const again = { ...nobody, action: 'key.generated', at: '2025-11-20T00:00:00.000Z' }
    expect(await createLog().recordOnce([{ ...again, target: 'user-0' }])).toEqual([])
    expect(await createLog().recordOnce([{ ...again, target: 'other' }])).toHaveLength(1)
  })

  it('are emptied row by row where much of them stays, and when they are the last', async () => {
    await write(7)
    nextMonth()
    await write(5)
    await keepHouse()
    nextMonth()
    await keepHouse()
    expect(await drop('2025-12-01', 4)).toEqual([3, 6, 7])
    expect(await bounds()).toEqual(['1 13', '13 null'])
    expect(await drop('2026-01-01')).toEqual([5])
    await write(4)
    expect(await drop('2026-02-01')).toEqual([3, 4])
    expect(await bounds()).toEqual(['13 null'])
    await write(1)
    expect(await verdict()).toMatchObject({ sound: { count: 17 }, dropped: { count: 16 }, fault: undefined })
  })

  it('refuse changes and deletions also when a statement names them', async () => {
    await write(2)
    nextMonth()
    await write(2)
    await keepHouse()
    await write(2)
    await drop('2025-12-01')
    const names = (await readPartitions(database)).map(({ name }) => name)
    expect(names).toEqual(['audit_entries_from_3', 'audit_entries_from_5'])
    for (const name of ['audit_entries', ...names]) {
      for (const text of [`delete from auth.${name}`, `update auth.${name} set count = 2`, `truncate auth.${name}`]) {
        await expect(database.write(text)).rejects.toMatchObject({ sqlState: '23001' })
      }
    }
  })

  it('do not end while somebody else has the table; writers go on, and the next run ends them', async (context) => {
    if (!database.concurrentSessions) return context.skip()
    await write(2)
    nextMonth()
    let given: Promise<void> | undefined
    await database.transaction(async (reader) => {
      await reader.execute(sql`select count(*) from auth.audit_entries`)
      await expect(cut()).rejects.toMatchObject({ sqlState: '55P03' })
      given = write(1)
      await given
    })
    expect(await bounds()).toEqual(['1 null'])
    await keepHouse()
    expect(await bounds()).toEqual(['1 4', '4 null'])
    expect(warnings).toEqual([])
  })
})
