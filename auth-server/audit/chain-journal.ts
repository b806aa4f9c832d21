/**
 * Makes the chain from the journal: entries get their numbers in the order in which they came, 500 at a time. Any
 * server may do it at any time. One statement adds them, moves the head and clears them from the journal, but only if
 * the head is the one that they were read with. So of two servers that chain the same entries, one does.
 */
import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { gather } from '../../shared/platform/concurrency/gather.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { namesOf, parameters, sqlTextOf } from '../../shared/platform/database/statement.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { auditEntries, auditHead, auditJournal } from '../store/audit-tables.ts'
import type { SecretsKey, SecretsKeys } from '../store/secrets-keys.ts'
import type { AuditEntry, AuditHead } from './audit.ts'
import { macUnder } from './chain.ts'
import { noHead } from './chain-head.ts'
import type { Pending } from './journal.ts'

/** How long entries wait until they are chained, in ms. So four servers write 5,000 to 6,000 entries a second. */
const chainAfterMs = 50

/** How many entries are chained at once. */
const maxAtOnce = 500

const h = alias(auditHead, 'h')
const j = alias(auditJournal, 'j')

/** Head and entries are read by one statement: the entries are those behind this head. */
const readSql = sqlTextOf(sql`select json_build_object('count', ${h.count}, 'digest', ${h.mac}, 'waiting', (
    select coalesce(json_agg(j order by ${j.position}), '[]'::json) from (
      select ${j.position}, ${j.entry} from ${auditJournal} ${j}
      order by ${j.position} limit ${sql.raw(String(maxAtOnce))}) j)) as journal
  from ${auditHead} ${h}`)

interface Journal extends AuditHead {
  readonly waiting: readonly { readonly position: number; readonly entry: Pending }[]
}

const chained = parameters({
  count: 'bigint',
  digest: 'text',
  nextCount: 'bigint',
  nextDigest: 'text',
  positions: 'bigint[]',
  entries: 'json',
})
/** `count` and `digest`: the head; `nextCount` and `nextDigest`: the next one; `positions`: places in the journal. */
const chainSql = chained.statement(sql`with moved as (
    update ${auditHead} set (${namesOf(auditHead, 'count', 'mac')}) = (${chained.nextCount}, ${chained.nextDigest})
    where ${auditHead.count} = ${chained.count} and ${auditHead.mac} = ${chained.digest} returning 1
  ),
  gone as (delete from ${auditJournal} ${j} using moved where ${j.position} = any(${chained.positions}))
  insert into ${auditEntries}
    (${namesOf(auditEntries, 'seq', 'at', 'actor', 'action', 'target', 'outcome', 'scheme', 'address', 'requestId')},
      ${namesOf(auditEntries, 'count', 'reason', 'client', 'changes', 'keyId', 'mac')})
  select e.seq, e.at, e.actor, e.action, e.target, e.outcome, e.scheme, e.address, e."requestId", e.count, e.reason,
    e.client, e.changes, e."keyId", e.mac
  from moved, json_to_recordset(${chained.entries}) as e(seq bigint, at timestamptz, actor text, action text,
    target text, outcome text, scheme text, address text, "requestId" text, count integer, reason text,
    client text, changes json, "keyId" text, mac text)
  returning 1 as added`)

/** An entry with its place in the chain. */
interface Linked extends AuditEntry {
  readonly keyId: string
  readonly mac: string
}

/** Creates the chaining of one process. */
export function createJournalChaining({
  database,
  log,
  secretsKeys: [secretsKey],
}: {
  readonly database: Database
  readonly log: Pick<Log, 'warn'>
  readonly secretsKeys: SecretsKeys
}) {
  const link = createLink(secretsKey)
  /** True when nothing waited behind what was read. */
  const chainOnce = async (): Promise<boolean> => {
    const [row] = await database.query<{ journal: Journal }>(readSql)
    const { count, digest, waiting } = row?.journal ?? noHead()
    if (waiting.length === 0) return true
    const linked = link(waiting, { count, digest })
    const chain = chainSql({
      count,
      digest,
      nextCount: count + linked.length,
      nextDigest: linked.at(-1)?.mac ?? '',
      positions: waiting.map(({ position }) => position),
      entries: linked,
    })
    const added = await database.write(...chain)
    // Otherwise another server moved the head. It may not have seen all of these.
    return added.length > 0 && waiting.length < maxAtOnce
  }
  const settle = gather<undefined, undefined>({
    run: async (calls) => {
      while (!(await chainOnce()));
      return calls.map(() => undefined)
    },
    maxInFlight: 1,
  })
  let isPlanned = false
  /** Chains what waits some moments from now. */
  const later = (): void => {
    if (isPlanned) return
    isPlanned = true
    setTimeout(() => {
      isPlanned = false
      // The next entry, read or minute tries again.
      settle(undefined).catch((err: unknown) => log.warn({ err }, 'Audit entries wait to be chained'))
    }, chainAfterMs).unref()
  }
  return {
    later,
    /** Resolves when all entries have their numbers that were stored before the call. @throws Unavailable */
    settle: async (): Promise<void> => settle(undefined),
  }
}

/** Makes entries that follow each other behind a head. */
function createLink(secretsKey: SecretsKey) {
  const mac = macUnder(secretsKey)
  return (waiting: Journal['waiting'], { count, digest }: AuditHead): Linked[] => {
    let last = digest
    return waiting.map(({ entry }, index) => {
      const numbered = { ...entry, seq: count + index + 1 }
      last = mac(numbered, last)
      return { ...numbered, keyId: secretsKey.id, mac: last }
    })
  }
}
