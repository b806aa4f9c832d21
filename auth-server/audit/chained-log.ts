import { LRUCache } from 'lru-cache'
import { type Clock, rfc3339 } from '../../shared/clock.ts'
import type { Database, Drizzle } from '../../shared/database/database.ts'
import { gather } from '../../shared/gather.ts'
import type { Log } from '../../shared/log.ts'
import { auditEntries, auditHead } from '../store/schema.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'
import type { Audit, AuditEntry, AuditEvent, AuditHead } from './audit.ts'
import { macUnder } from './chain.ts'
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
  /** Logs the head each minute from now on. */
  start(): void
  /** Logs the head once more, and then no more. */
  stop(): Promise<void>
}

type Pending = Omit<AuditEntry, 'seq'>

/** So many entries go into one transaction. */
const maxEntriesAtOnce = 200

const headIntervalMs = 60_000

/** Refusals by a limit come in floods: of those that are alike, one in so many milliseconds is kept. */
const floodIntervalMs = 60_000
const floodOutcome = 'too-many-attempts'
const maxFloods = 10_000

/** The audit log in this database. Entries of concurrent callers share a transaction, so that none waits for the others' one by one. */
export function createChainedLog(ports: ChainedLogPorts): ChainedLog {
  const { database, clock, log } = ports
  const store = gather<Pending, undefined>({
    run: (entries) => append(ports, entries),
    spoiltByOne: () => false,
    maxItems: maxEntriesAtOnce,
    maxInFlight: 1,
  })
  const repeats = createFloodFilter(clock)
  let timer: NodeJS.Timeout | undefined
  const head = () => readHead(database)
  const logHead = async () => {
    try {
      const now = await head()
      log.info({ auditHead: now }, `audit head ${formatAuditHead(now)}`)
    } catch (err) {
      log.warn({ err }, 'the head of the audit log could not be read')
    }
  }
  return {
    head,
    async record(event) {
      if (repeats(event)) return
      const entry = { ...cleaned(event), at: rfc3339(clock.now()) }
      try {
        await store(entry)
      } catch (err) {
        log.error({ err, auditEntry: entry }, 'an audit entry could not be stored')
        throw err
      }
    },
    start() {
      timer ??= setInterval(() => void logHead(), headIntervalMs).unref()
    },
    async stop() {
      if (timer === undefined) return
      clearInterval(timer)
      timer = undefined
      await logHead()
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

/** The lock on the head makes everybody else wait until these entries are there: numbers have no gaps, and the chain no branches. */
function append({ database, secretsKeys }: ChainedLogPorts, entries: readonly Pending[]): Promise<undefined[]> {
  const [{ id: keyId }] = secretsKeys
  const mac = macUnder(secretsKeys[0])
  return database.transaction(async (transaction) => {
    let { count, mac: last } = await lockHead(transaction)
    const rows = entries.map((entry) => {
      count += 1
      last = mac({ ...entry, seq: count }, last)
      return { ...entry, at: new Date(entry.at), seq: count, keyId, mac: last }
    })
    await transaction.insert(auditEntries).values(rows)
    await transaction.update(auditHead).set({ count, mac: last })
    return entries.map(() => undefined)
  })
}

async function lockHead(transaction: Drizzle): Promise<{ count: number; mac: string }> {
  const [head] = await transaction.select().from(auditHead).for('update')
  return head ?? noHead()
}

function noHead(): never {
  throw new Error('auth.audit_head has no row: the migrations put it there')
}

/** True for a refusal by a limit like one that was kept a moment ago. */
function createFloodFilter(clock: Clock): (event: AuditEvent) => boolean {
  const keptAt = new LRUCache<string, number>({ max: maxFloods })
  return ({ actor, action, outcome, address }) => {
    if (outcome !== floodOutcome) return false
    const key = JSON.stringify([actor, action, address])
    const now = clock.monotonic()
    if (now - (keptAt.get(key) ?? Number.NEGATIVE_INFINITY) < floodIntervalMs) return true
    keptAt.set(key, now)
    return false
  }
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
