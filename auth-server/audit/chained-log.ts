import { inArray, type SQLWrapper, sql } from 'drizzle-orm'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { gather } from '../../shared/platform/concurrency/gather.ts'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { foldUsername } from '../../shared/protocol/principal/record.ts'
import { type CountedRefusal, createFloodFilter } from '../../shared/server/login-throttle/flood-filter.ts'
import { auditDroppedOnce, auditEntries, auditHead, auditJournal } from '../store/audit-tables.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'
import type { Audit, AuditEvent, AuditHead, TimedEvent } from './audit.ts'
import { holdsKeyOfLog } from './chain.ts'
import { hasHead, readHead } from './chain-head.ts'
import { createJournalChaining } from './chain-journal.ts'
import { createBeginning, createDuring } from './change-entries.ts'
import { insertEntriesSql, type Pending, pendingOf } from './journal.ts'
import { formatAuditHead } from './verify-chain.ts'

/** The systems that the log uses. */
export interface ChainedLogPorts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly secretsKeys: SecretsKeys
}

/** The audit log of one process. Several processes can write at the same time. */
export type ChainedLog = ReturnType<typeof createChainedLog>

/** How many entries are stored in one transaction at most. */
const maxEntriesAtOnce = 200

const intervalMs = 60_000

const lostHead =
  'The audit log was cut off or rewritten, or its database was restored: it no longer has the head of a minute ago,'

const unknownKeyWarning =
  'SECRETS_KEY does not hold the key that the audit log was last written under. Has it just been rotated? ' +
  'Otherwise it is not the SECRETS_KEY of the servers before.'

/**
 * Creates the audit log in this database. Entries of concurrent callers share a transaction, which is faster than one
 * each.
 */
export function createChainedLog(ports: ChainedLogPorts) {
  const { database, clock, log } = ports
  const { settle, later } = createJournalChaining(ports)
  const store = gatherEntries(database)
  const logged = async (entry: Pending) => {
    try {
      await store(entry)
      later()
    } catch (err) {
      log.error({ err, auditEntry: entry }, 'An audit entry could not be stored')
      throw err
    }
  }
  const check = () => database.checkWrites()
  const record = (event: AuditEvent) => logged(pendingOf(event, rfc3339(clock.now())))
  const refusals = createRefusals(clock, logged)
  let timer: NodeJS.Timeout | undefined
  let checking: Promise<void> | undefined
  /** Reads the head of the log, after all that waits in the journal was chained. @throws Unavailable */
  const head = async (): Promise<AuditHead> => {
    await settle()
    return readHead(database)
  }
  const logHead = createHeadLog(ports, head)
  const eachMinute = (which: 'over' | 'all') => refusals.writeLeftOut(which).then(logHead)
  const checkKey = async () => {
    try {
      if (!(await holdsKeyOfLog(ports))) log.warn(unknownKeyWarning)
    } catch (err) {
      log.warn({ err }, 'The key of the audit log could not be checked')
    }
  }
  const audit: Audit = {
    check,
    record,
    recordRefusal: refusals.record,
    during: createDuring({ clock, check, record, recordRefusal: refusals.record, stored: later }),
    beginning: createBeginning({ clock, stored: later }),
  }
  return {
    ...audit,
    head,
    settle,
    /**
     * Logs those of these events whose action and target have no entry yet, and resolves to them. Several servers may
     * find the same events at the same time: one of them logs each. @throws Unavailable
     */
    recordOnce: async (events: readonly TimedEvent[]): Promise<TimedEvent[]> => {
      const recorded = await storeOnce(database, events)
      if (recorded.length > 0) later()
      return recorded
    },
    /**
     * Starts to store the number of left-out refusals and to log the head, each minute. Logs an error when the log no
     * longer has the head that was logged before, and a warning when SECRETS_KEY does not hold the key of the last
     * entry.
     */
    start(): void {
      later()
      timer ??= setInterval(() => void eachMinute('over'), intervalMs).unref()
      checking = checkKey()
    },
    /** Does this a last time, and stops. */
    async stop(): Promise<void> {
      if (timer === undefined) return
      clearInterval(timer)
      timer = undefined
      await checking
      await eachMinute('all')
    },
  }
}

/** Logs the head, and an error when the log no longer has the one that was logged before. */
function createHeadLog({ database, log }: ChainedLogPorts, head: () => Promise<AuditHead>): () => Promise<void> {
  // Nobody who can write to the database can change what a server remembers.
  let before: AuditHead | undefined
  return async () => {
    try {
      const now = await head()
      const lost = before && !(await hasHead(database, before)) ? before : undefined
      log.info({ auditHead: now }, `Current audit head ${formatAuditHead(now)}`)
      if (lost) log.error({ auditHead: lost }, `${lostHead} ${formatAuditHead(lost)}`)
      before = now
    } catch (err) {
      log.warn({ err }, 'The head of the audit log could not be read')
    }
  }
}

const inserted = parameters({ entries: 'json' })
const insertSql = inserted.statement(insertEntriesSql(inserted.entries))

/** Gathers the entries of concurrent callers. */
const gatherEntries = (database: Pick<Database, 'write'>) =>
  gather<Pending, undefined>({
    run: async (entries) => {
      await database.write(...insertSql({ entries }))
      return entries.map(() => undefined)
    },
    maxItems: maxEntriesAtOnce,
    maxInFlight: 1,
  })

/** Makes entries of refusals: one a minute for equal refusals, with their number. */
function createRefusals(clock: Clock, store: (entry: Pending) => Promise<void>) {
  const floods = createFloodFilter<Pending>(clock, ({ action, client, scheme, outcome }) =>
    JSON.stringify([action, client, scheme, outcome]),
  )
  const write = async ({ refusal, count }: CountedRefusal<Pending>): Promise<void> => {
    try {
      await store({ ...refusal, count })
    } catch (error) {
      floods.putBack({ refusal, count })
      throw error
    }
  }
  return {
    async record(event: AuditEvent, times?: number): Promise<void> {
      const counted = floods.take(pendingOf(event, rfc3339(clock.now())), times)
      if (counted) await write(counted)
    },
    /**
     * Stores the counts of left-out refusals: those whose minute is over, or all. A count that cannot be stored is
     * kept.
     */
    async writeLeftOut(which: 'over' | 'all'): Promise<void> {
      await Promise.allSettled(floods.drain(which).map(write))
    },
  }
}

/** Stores those events whose action and target have no entry, and returns them. */
async function storeOnce(database: Database, events: readonly TimedEvent[]): Promise<TimedEvent[]> {
  if ((await notLogged(database.drizzle, events)).length === 0) return []
  return database.transaction(async (transaction) => {
    // Whoever holds the lock sees every entry of other holders, and nothing leaves the journal until then.
    await transaction.select().from(auditHead).for('update')
    const missing = await notLogged(transaction, events)
    const entries = missing.map((event) => ({ entry: pendingOf(event, event.at) }))
    if (entries.length > 0) await transaction.insert(auditJournal).values(entries)
    return missing
  })
}

/** The events whose action and target have no entry. */
async function notLogged(source: Drizzle, events: readonly TimedEvent[]): Promise<TimedEvent[]> {
  const targets = events.flatMap(({ target }) => (target === null ? [] : [foldUsername(target)]))
  if (targets.length === 0) return []
  const isTarget = (target: SQLWrapper) => inArray(sql`lower(${target} collate "C")`, targets)
  const { action, target } = auditEntries
  const inJournal = {
    action: sql<string>`${auditJournal.entry}->>'action'`,
    target: sql<string>`${auditJournal.entry}->>'target'`,
  }
  // In the order in which an entry moves on: one that does so during the look is found at least once.
  const waiting = await source
    .select(inJournal)
    .from(auditJournal)
    .where(isTarget(sql`(${inJournal.target})`))
  const logged = await source.select({ action, target }).from(auditEntries).where(isTarget(target))
  const dropped = await source
    .select({ action: auditDroppedOnce.action, target: auditDroppedOnce.target })
    .from(auditDroppedOnce)
    .where(isTarget(auditDroppedOnce.target))
  const names = new Set([...waiting, ...logged, ...dropped].map((entry) => `${entry.action} ${entry.target}`))
  return events.filter((event) => !names.has(`${event.action} ${event.target}`))
}
