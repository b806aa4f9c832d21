import { inArray, sql } from 'drizzle-orm'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { gather } from '../../shared/platform/concurrency/gather.ts'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { type CountedRefusal, createFloodFilter } from '../../shared/protocol/login-throttle/flood-filter.ts'
import { foldUsername } from '../../shared/protocol/principal/record.ts'
import { auditArchivedOnce, auditEntries, auditHead } from '../store/schema.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'
import type { Audit, AuditEntry, AuditEvent, AuditHead, TimedEvent } from './audit.ts'
import { holdsKeyOfLog, macUnder } from './chain.ts'
import { formatAuditHead } from './verify-chain.ts'

/** The systems that the log uses. */
export interface ChainedLogPorts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly secretsKeys: SecretsKeys
}

/** The audit log of one process. Several processes can write at the same time. */
export interface ChainedLog extends Audit {
  /**
   * Logs those of these events whose action and target have no entry yet, and resolves to them. Several servers may
   * find the same events at the same time: one of them logs each. @throws Unavailable
   */
  recordOnce(events: readonly TimedEvent[]): Promise<TimedEvent[]>
  /** Reads the head of the log. @throws Unavailable */
  head(): Promise<AuditHead>
  /**
   * Starts to store the number of left-out refusals and to log the head, each minute. Also logs a warning when
   * SECRETS_KEY does not hold the key of the last entry.
   */
  start(): void
  /** Does this a last time, and stops. */
  stop(): Promise<void>
}

type Pending = Omit<AuditEntry, 'seq'>

type Refusal = Omit<Pending, 'count'>

/** How many entries are stored in one transaction at most. */
const maxEntriesAtOnce = 200

const intervalMs = 60_000

const unknownKeyWarning =
  'SECRETS_KEY does not hold the key that the audit log was last written under. Has it just been rotated? ' +
  'Otherwise it is not the SECRETS_KEY of the servers before.'

/**
 * Creates the audit log in this database. Entries of concurrent callers share a transaction, which is faster than one
 * each.
 */
export function createChainedLog(ports: ChainedLogPorts): ChainedLog {
  const { database, clock, log } = ports
  const { append, appendOnce } = createAppender(ports)
  const store = gather<Pending, undefined>({
    run: async (entries) => {
      await append(entries)
      return entries.map(() => undefined)
    },
    isItemError: () => false,
    maxItems: maxEntriesAtOnce,
    maxInFlight: 1,
  })
  const logged = async (entry: Pending) => {
    try {
      await store(entry)
    } catch (err) {
      log.error({ err, auditEntry: entry }, 'An audit entry could not be stored')
      throw err
    }
  }
  const refusals = createRefusals(clock, logged)
  let timer: NodeJS.Timeout | undefined
  let checking: Promise<void> | undefined
  const head = () => readHead(database)
  const logHead = async () => {
    try {
      const now = await head()
      log.info({ auditHead: now }, `Current audit head ${formatAuditHead(now)}`)
    } catch (err) {
      log.warn({ err }, 'The head of the audit log could not be read')
    }
  }
  const eachMinute = (which: 'over' | 'all') => refusals.writeLeftOut(which).then(logHead)
  const checkKey = async () => {
    try {
      if (!(await holdsKeyOfLog(ports))) log.warn(unknownKeyWarning)
    } catch (err) {
      log.warn({ err }, 'The key of the audit log could not be checked')
    }
  }
  return {
    head,
    check: () => database.checkWrites(),
    record: (event) => logged({ ...cleaned(event), at: rfc3339(clock.now()), count: 1 }),
    recordRefusal: refusals.record,
    recordOnce: appendOnce,
    start() {
      timer ??= setInterval(() => void eachMinute('over'), intervalMs).unref()
      checking = checkKey()
    },
    async stop() {
      if (timer === undefined) return
      clearInterval(timer)
      timer = undefined
      await checking
      await eachMinute('all')
    },
  }
}

/** Makes entries of refusals: one a minute for equal refusals, with their number. */
function createRefusals(clock: Clock, store: (entry: Pending) => Promise<void>) {
  const floods = createFloodFilter<Refusal>(clock, ({ action, scheme, outcome }) =>
    JSON.stringify([action, scheme, outcome]),
  )
  const write = async ({ refusal, count }: CountedRefusal<Refusal>): Promise<void> => {
    try {
      await store({ ...refusal, count })
    } catch (error) {
      floods.putBack({ refusal, count })
      throw error
    }
  }
  return {
    async record(event: AuditEvent, times?: number): Promise<void> {
      const counted = floods.take({ ...cleaned(event), at: rfc3339(clock.now()) }, times)
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

/** Reads the head. @throws Unavailable */
async function readHead(database: Pick<Database, 'query'>): Promise<AuditHead> {
  const [row] = await database.query<{ head: AuditHead }>(
    "select json_build_object('count', count, 'digest', mac) as head from auth.audit_head",
  )
  return row?.head ?? noHead()
}

/** An entry with its place in the chain. */
interface Linked extends AuditEntry {
  readonly keyId: string
  readonly mac: string
}

/**
 * Appends entries to the chain. If this process wrote the last entry, one statement is enough. Otherwise the process
 * locks the head, and other processes wait. In both cases the numbers have no gaps, and the chain has no branches.
 */
function createAppender({ database, secretsKeys }: ChainedLogPorts) {
  const [secretsKey] = secretsKeys
  const mac = macUnder(secretsKey)
  const link = (entries: readonly Pending[], { count, digest }: AuditHead): Linked[] => {
    let last = digest
    return entries.map((entry, index) => {
      const numbered = { ...entry, seq: count + index + 1 }
      last = mac(numbered, last)
      return { ...numbered, keyId: secretsKey.id, mac: last }
    })
  }
  let left: AuditHead | undefined
  return {
    append: async (entries: readonly Pending[]): Promise<void> => {
      const head = left
      left = undefined
      const linked = head && link(entries, head)
      const isAppended = linked && (await appendAfter(database, head, linked))
      left = isAppended
        ? headOf(linked)
        : await database.transaction((transaction) => appendLocked(transaction, entries))
    },
    appendOnce: async (events: readonly TimedEvent[]): Promise<TimedEvent[]> => {
      if ((await notLogged(database.drizzle, events)).length === 0) return []
      return database.transaction(async (transaction) => {
        // Whoever holds the lock sees every entry.
        const head = await lockHead(transaction)
        const missing = await notLogged(transaction, events)
        const entries = missing.map((event) => ({ ...cleaned(event), at: event.at, count: 1 }))
        if (entries.length > 0) await insertLinked(transaction, link(entries, head))
        return missing
      })
    },
  }

  async function appendLocked(transaction: Drizzle, entries: readonly Pending[]): Promise<AuditHead> {
    return insertLinked(transaction, link(entries, await lockHead(transaction)))
  }
}

/** Inserts entries behind the head, which is locked, and moves the head. */
async function insertLinked(transaction: Drizzle, linked: readonly Linked[]): Promise<AuditHead> {
  await transaction.insert(auditEntries).values(linked.map((entry) => ({ ...entry, at: new Date(entry.at) })))
  const { count, digest: lastMac } = headOf(linked)
  await transaction.update(auditHead).set({ count, mac: lastMac })
  return { count, digest: lastMac }
}

/** The events whose action and target have no entry. */
async function notLogged(source: Drizzle, events: readonly TimedEvent[]): Promise<TimedEvent[]> {
  const targets = events.flatMap(({ target }) => (target === null ? [] : [foldUsername(target)]))
  if (targets.length === 0) return []
  const { action, target } = auditEntries
  const logged = await source
    .select({ action, target })
    .from(auditEntries)
    .where(inArray(sql`lower(${target} collate "C")`, targets))
  // Read second: an entry that is archived meanwhile is found at least once.
  const archived = await source
    .select({ action: auditArchivedOnce.action, target: auditArchivedOnce.target })
    .from(auditArchivedOnce)
    .where(inArray(sql`lower(${auditArchivedOnce.target} collate "C")`, targets))
  const names = new Set([...logged, ...archived].map((entry) => `${entry.action} ${entry.target}`))
  return events.filter((event) => !names.has(`${event.action} ${event.target}`))
}

/** Adds the entries and moves the head only if the head is the expected one. */
const appendSql = `with moved as (
    update auth.audit_head set count = $3::text::bigint, mac = $4::text
    where count = $1::text::bigint and mac = $2::text returning 1)
  insert into auth.audit_entries
    (seq, at, actor, action, target, outcome, scheme, address, request_id, count, reason, key_id, mac)
  select e.seq, e.at, e.actor, e.action, e.target, e.outcome, e.scheme, e.address, e."requestId", e.count,
    e.reason, e."keyId", e.mac
  from moved, json_to_recordset($5::text::json) as e(seq bigint, at timestamptz, actor text, action text, target text,
    outcome text, scheme text, address text, "requestId" text, count integer, reason text, "keyId" text, mac text)
  returning 1 as added`

/** False when the head is another one; nothing is added then. @throws Unavailable */
async function appendAfter(
  database: Pick<Database, 'write'>,
  { count, digest }: AuditHead,
  linked: readonly Linked[],
): Promise<boolean> {
  const next = headOf(linked)
  const heads = [String(count), digest, String(next.count), next.digest]
  return (await database.write(appendSql, [...heads, JSON.stringify(linked)])).length > 0
}

function headOf(linked: readonly Linked[]): AuditHead {
  const { seq: count, mac: digest } = linked.at(-1) ?? { seq: 0, mac: '' }
  return { count, digest }
}

async function lockHead(transaction: Drizzle): Promise<AuditHead> {
  const [head] = await transaction.select().from(auditHead).for('update')
  return head ? { count: head.count, digest: head.mac } : noHead()
}

function noHead(): never {
  throw new Error('auth.audit_head has no row: the migrations have not all been applied')
}

const isName = (text: string): boolean => /^[A-Za-z0-9._@-]{1,64}$/.test(text)

/**
 * Replaces a text that has not the form of a name or an id by null: users may type a password in the field for the
 * name.
 */
const cleaned = (event: AuditEvent): Omit<Refusal, 'at'> => ({
  actor: event.actor !== null && isName(event.actor) ? event.actor : null,
  action: event.action,
  target: event.target !== null && isName(event.target) ? event.target : null,
  outcome: event.outcome,
  scheme: event.scheme,
  address: event.address,
  requestId: event.requestId,
  reason: event.reason ?? null,
})
