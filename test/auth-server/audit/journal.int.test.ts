import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { beforeEach, expect, it } from 'vitest'
import type { AuditEvent } from '../../../auth-server/audit/audit.ts'
import { createChainedLog } from '../../../auth-server/audit/chained-log.ts'
import { insertEntriesSql, pendingOf } from '../../../auth-server/audit/journal.ts'
import { readEntries } from '../../../auth-server/audit/read-entries.ts'
import { verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { rfc3339, systemClock } from '../../../shared/platform/clock.ts'
import { sqlTextOf } from '../../../shared/platform/database/statement.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'

const secretsKeys = parseSecretsKeys(Buffer.alloc(32, 7).toString('base64url'))

const event = (target: string): AuditEvent => ({
  actor: 'admin',
  action: 'user.changed',
  target,
  outcome: 'succeeded',
  scheme: 'bearer',
  address: '203.0.113.7',
  requestId: '0191e7a0-0000-7000-8000-000000000000',
})
const names = (begin: string, count: number) => Array.from({ length: count }, (_, index) => `${begin}-${index}`)
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }

describeDatabases('the journal of the audit log', (open) => {
  const { database } = databaseOfSuite(open)

  beforeEach(async () => {
    // Logs of the test before have planned to chain.
    await pause(100)
    await database.transaction(async (transaction) => {
      await transaction.execute('alter table auth.audit_entries disable trigger user')
      await transaction.execute('delete from auth.audit_entries')
      await transaction.execute("update auth.audit_head set count = 0, mac = ''")
      await transaction.execute('delete from auth.audit_journal')
      await transaction.execute('alter table auth.audit_entries enable trigger user')
    })
  })

  const createLog = (written = database) =>
    createChainedLog({ database: written, clock: systemClock, log: quiet, secretsKeys })
  /** Stores entries as a server that dies behind its commit. */
  const leave = async (...targets: string[]) => {
    const entries = targets.map((target) => pendingOf(event(target), rfc3339(systemClock.now())))
    await database.write(sqlTextOf(insertEntriesSql(sql`$1::text::json`)), [JSON.stringify(entries)])
  }
  const verify = () => verifyChain({ database, secretsKeys })
  const targets = async () => {
    const { items } = await readEntries(database, { limit: 5_000 })
    expect(items.map(({ seq }) => seq)).toEqual(items.map((_, index) => index + 1))
    return items.map(({ target }) => target)
  }
  const waiting = async () => (await database.query('select 1 as waits from auth.audit_journal')).length

  it('keeps all that servers write at the same time, once each, and what each of them wrote in its order', async () => {
    const logs = [createLog(), createLog(), createLog()]
    const record = async (index: number) => {
      for (const target of names(`server-${index}`, 30)) await logs[index]?.record(event(target))
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
    await leave('first', 'second')
    await leave('third')
    expect(await targets()).toEqual([])
    const server = createLog()
    await server.record(event('fourth'))
    expect(await server.head()).toMatchObject({ count: 4 })
    expect(await targets()).toEqual(['first', 'second', 'third', 'fourth'])
    expect(await waiting()).toBe(0)
    await leave('fifth')
    await Promise.all([createLog().settle(), createLog().settle(), server.settle()])
    expect(await targets()).toEqual(['first', 'second', 'third', 'fourth', 'fifth'])
    expect((await verify()).fault).toBeUndefined()
  })

  it('is chained without anybody who asks for it, by a server that starts too', async () => {
    await createLog().record(event('first'))
    await expect.poll(targets).toEqual(['first'])
    await leave('second')
    const started = createLog()
    started.start()
    await expect.poll(targets).toEqual(['first', 'second'])
    await started.stop()
  })

  it('is chained whole and once, however much waits and however many servers chain it at the same time', async () => {
    for (let round = 0; round < 6; round += 1) await leave(...names(`round-${round}`, 400))
    await Promise.all([createLog(), createLog(), createLog()].map((log) => log.settle()))
    const rounds = Array.from({ length: 6 }, (_, round) => names(`round-${round}`, 400)).flat()
    expect(await targets()).toEqual(rounds)
    expect(await waiting()).toBe(0)
    expect((await verify()).fault).toBeUndefined()
  })

  it('is chained once by a server that never learns that it did', async () => {
    const [query, transaction] = [database.query.bind(database), database.transaction.bind(database)]
    const write: typeof database.write = async (...statement) => {
      await database.write(...statement)
      throw new Unavailable('database')
    }
    await leave('first', 'second')
    await expect(
      createLog(Object.assign(Object.create(database), { query, transaction, write })).settle(),
    ).rejects.toThrow(Unavailable)
    await leave('third')
    await createLog().settle()
    expect(await targets()).toEqual(['first', 'second', 'third'])
    expect((await verify()).fault).toBeUndefined()
  })

  it('holds what is logged only once', async () => {
    const at = rfc3339(systemClock.now())
    const once = { ...event('key-1'), action: 'key.generated', at }
    const logs = [createLog(), createLog(), createLog()]
    const recorded = await Promise.all(logs.map((log) => log.recordOnce([once])))
    expect(recorded.flat()).toEqual([once])
    expect(await createLog().recordOnce([once])).toEqual([])
    await createLog().settle()
    expect(await createLog().recordOnce([once])).toEqual([])
    expect(await targets()).toEqual(['key-1'])
  })
})
