/** The end of the chain: its head, and the statements that append entries there. */
import { sql } from 'drizzle-orm'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { auditHead } from '../store/audit-tables.ts'
import type { SecretsKey } from '../store/secrets-keys.ts'
import type { AuditHead } from './audit.ts'
import { type CoveredEntry, macUnder } from './chain.ts'
import type { Chainable } from './journal.ts'

/** Reads the head. @throws Unavailable */
export async function readHead(database: Pick<Database, 'query'>): Promise<AuditHead> {
  const [row] = await database.query<{ head: AuditHead }>(
    "select json_build_object('count', count, 'digest', mac) as head from auth.audit_head",
  )
  return row?.head ?? noHead()
}

const hasHeadSql = `select exists (select from auth.audit_entries where seq = $1::text::bigint and mac = $2::text)
  or exists (select from auth.audit_archive where count >= $1::text::bigint) as has`

/** True when this was the head of the log once, and when its entry is archived. @throws Unavailable */
export async function hasHead(database: Pick<Database, 'query'>, { count, digest }: AuditHead): Promise<boolean> {
  if (count === 0) return true
  const [row] = await database.query<{ has: boolean }>(hasHeadSql, [String(count), digest])
  return row?.has === true
}

/** An entry with its place in the chain. */
export interface Linked extends CoveredEntry {
  readonly keyId: string
  readonly mac: string
}

/** Makes entries that follow each other of entries behind this head. */
export type Link = (entries: readonly Chainable[], head: AuditHead) => Linked[]

/** Creates the links under this key. */
export function createLink(secretsKey: SecretsKey): Link {
  const mac = macUnder(secretsKey)
  return (entries, { count, digest }) => {
    let last = digest
    return entries.map((entry, index) => {
      const numbered = { ...entry, seq: count + index + 1 }
      last = mac(numbered, last)
      return { ...numbered, keyId: secretsKey.id, mac: last }
    })
  }
}

/** Inserts entries behind the head, which is locked, and moves the head. */
export async function insertLinked(transaction: Drizzle, linked: readonly Linked[]): Promise<AuditHead> {
  const rows = sql`json_to_recordset(${JSON.stringify(linked)}::text::json) ${sql.raw(recordColumns)}`
  await transaction.execute(sql`${sql.raw(insertSql)} from ${rows}`)
  const { count, digest: lastMac } = headOf(linked)
  await transaction.update(auditHead).set({ count, mac: lastMac })
  return { count, digest: lastMac }
}

const insertSql = `insert into auth.audit_entries
    (seq, at, actor, action, target, outcome, scheme, address, request_id, count, reason, key_id, mac,
     writer, writer_first, writer_last, writer_mac)
  select e.seq, e.at, e.actor, e.action, e.target, e.outcome, e.scheme, e.address, e."requestId", e.count,
    e.reason, e."keyId", e.mac, (e.journal->>'writer')::uuid, (e.journal->>'first')::bigint,
    (e.journal->>'last')::bigint, e.journal->>'mac'`

const recordColumns = `as e(seq bigint, at timestamptz, actor text, action text, target text, outcome text,
    scheme text, address text, "requestId" text, count integer, reason text, "keyId" text, mac text, journal json)`

/** Adds the entries and moves the head only if the head is the expected one and no entries wait before them. */
const appendSql = `with moved as (
    update auth.audit_head set count = $3::text::bigint, mac = $4::text
    where count = $1::text::bigint and mac = $2::text and not exists (select from auth.audit_journal) returning 1)
  ${insertSql}
  from moved, json_to_recordset($5::text::json) ${recordColumns}
  returning 1 as added`

/** False when the head is another one, or entries wait; nothing is added then. @throws Unavailable */
export async function appendAfter(
  database: Pick<Database, 'write'>,
  { count, digest }: AuditHead,
  linked: readonly Linked[],
): Promise<boolean> {
  const next = headOf(linked)
  const heads = [String(count), digest, String(next.count), next.digest]
  return (await database.write(appendSql, [...heads, JSON.stringify(linked)])).length > 0
}

/** The head behind these entries. */
export function headOf(linked: readonly Linked[]): AuditHead {
  const { seq: count, mac: digest } = linked.at(-1) ?? { seq: 0, mac: '' }
  return { count, digest }
}

/** Locks the head until the transaction ends. @throws Unavailable */
export async function lockHead(transaction: Drizzle): Promise<AuditHead> {
  const [head] = await transaction.select().from(auditHead).for('update')
  return head ? { count: head.count, digest: head.mac } : noHead()
}

function noHead(): never {
  throw new Error('auth.audit_head has no row: the migrations have not all been applied')
}
