import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { gather } from '../../shared/platform/concurrency/gather.ts'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { type CountedRefusal, createFloodFilter } from '../../shared/protocol/login-throttle/flood-filter.ts'
import { auditEntries, auditHead } from '../store/schema.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'
import type { Audit, AuditEntry, AuditEvent, AuditHead } from './audit.ts'
import { holdsKeyOfLog, macUnder } from './chain.ts'
import { formatAuditHead } from './verify-chain.ts'

/** What the log is written with. */
export interface ChainedLogPorts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly secretsKeys: SecretsKeys
}

/** The log of one process. Several may write side by side. */
export interface ChainedLog extends Audit {
  /** How far the log goes now. @throws Unavailable */
  head(): Promise<AuditHead>
  /**
   * Each minute from now on writes down how many refusals were left out, and logs the head; and a warning when SECRETS_KEY is not what
   * others write with.
   */
  start(): void
  /** Does so once more, and then no more. */
  stop(): Promise<void>
}

type Pending = Omit<AuditEntry, 'seq'>

type Refusal = Omit<Pending, 'count'>

/** So many entries go into one transaction. */
const maxEntriesAtOnce = 200

const intervalMs = 60_000

const strangeKey =
  'SECRETS_KEY does not hold the key that the audit log was last written under. Has it just been rotated? Else it is not that of the servers before'

/** The audit log in this database. Entries of concurrent callers share a transaction, so that none waits for the others' one by one. */
export function createChainedLog(ports: ChainedLogPorts): ChainedLog {
  const { database, clock, log } = ports
  const append = createAppender(ports)
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
      log.error({ err, auditEntry: entry }, 'an audit entry could not be stored')
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
      log.info({ auditHead: now }, `audit head ${formatAuditHead(now)}`)
    } catch (err) {
      log.warn({ err }, 'the head of the audit log could not be read')
    }
  }
  const eachMinute = async (which: 'over' | 'all') => {
    await refusals.writeLeftOut(which)
    await logHead()
  }
  const checkKey = async () => {
    try {
      if (!(await holdsKeyOfLog(ports))) log.warn(strangeKey)
    } catch (err) {
      log.warn({ err }, 'the key of the audit log could not be checked')
    }
  }
  return {
    head,
    record: (event) => logged({ ...cleaned(event), at: rfc3339(clock.now()), count: 1 }),
    recordRefusal: refusals.record,
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

/** Refusals as they become entries: one a minute of those that are equal, each with the number of those it stands for. */
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
    /** Writes down what was left out: where its minute is over, or all of it. What cannot be written stays counted. */
    async writeLeftOut(which: 'over' | 'all'): Promise<void> {
      await Promise.allSettled(floods.drain(which).map(write))
    },
  }
}

/** @throws Unavailable */
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
 * Appends entries to the chain. Most servers write alone: where the head is still the one that this process left, one statement does; where
 * it is not, a lock on it makes everybody else wait. Either way numbers have no gaps, and the chain no branches.
 */
function createAppender({ database, secretsKeys }: ChainedLogPorts): (entries: readonly Pending[]) => Promise<void> {
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
  return async (entries) => {
    const head = left
    left = undefined
    const linked = head && link(entries, head)
    left = linked && (await appendAfter(database, head, linked)) ? headOf(linked) : await appendLocked(entries)
  }

  function appendLocked(entries: readonly Pending[]): Promise<AuditHead> {
    return database.transaction(async (transaction) => {
      const linked = link(entries, await lockHead(transaction))
      await transaction.insert(auditEntries).values(linked.map((entry) => ({ ...entry, at: new Date(entry.at) })))
      const { count, digest: lastMac } = headOf(linked)
      await transaction.update(auditHead).set({ count, mac: lastMac })
      return { count, digest: lastMac }
    })
  }
}

/** Moves the head only from where it is expected, and adds the entries only if it was there. */
const appendSql = `with moved as (
    update auth.audit_head set count = $3::text::bigint, mac = $4::text
    where count = $1::text::bigint and mac = $2::text returning 1)
  insert into auth.audit_entries
    (seq, at, actor, action, target, outcome, scheme, address, request_id, count, key_id, mac)
  select e.seq, e.at, e.actor, e.action, e.target, e.outcome, e.scheme, e.address, e."requestId", e.count, e."keyId", e.mac
  from moved, json_to_recordset($5::text::json) as e(seq bigint, at timestamptz, actor text, action text, target text,
    outcome text, scheme text, address text, "requestId" text, count integer, "keyId" text, mac text)
  returning 1 as added`

/** False when the head is another one: nothing was added then. @throws Unavailable */
async function appendAfter(
  database: Pick<Database, 'query'>,
  { count, digest }: AuditHead,
  linked: readonly Linked[],
): Promise<boolean> {
  const next = headOf(linked)
  const heads = [String(count), digest, String(next.count), next.digest]
  return (await database.query(appendSql, [...heads, JSON.stringify(linked)])).length > 0
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
  throw new Error('auth.audit_head has no row: the migrations put it there')
}

const isName = (text: string): boolean => /^[A-Za-z0-9._@-]{1,64}$/.test(text)

/** Somebody may have typed a password where a name belongs: what has no name's or id's form is not kept. */
const cleaned = (event: AuditEvent): AuditEvent => ({
  actor: event.actor !== null && isName(event.actor) ? event.actor : null,
  action: event.action,
  target: event.target !== null && isName(event.target) ? event.target : null,
  outcome: event.outcome,
  scheme: event.scheme,
  address: event.address,
  requestId: event.requestId,
})
