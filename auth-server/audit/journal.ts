/**
 * Entries that wait for their place in the chain. The chain has one end, for which the writers of several servers
 * queue. So a server that finds it taken stores its entries in the journal, where no server waits for another one. Some
 * moments later one of them chains all that wait, in the order in which they came (docs/contract.md#audit-log).
 *
 * Each writer has a chain of its own in the journal: the MAC of an entry covers the one before it. An entry that was
 * changed there, or whose predecessor was removed, is left where it is and is never chained. The audit log itself says
 * how far each writer has come (`journal-places.ts`): so an entry that was put back is not chained a second time.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { auditJournal } from '../store/audit-tables.ts'
import type { SecretsKey, SecretsKeys } from '../store/secrets-keys.ts'
import type { AuditEntry, AuditHead } from './audit.ts'
import type { JournalPart, JournalPlace } from './journal-places.ts'

/** An entry without its number. */
export type Pending = Omit<AuditEntry, 'seq'>

/** An entry that goes into the chain, with the part of its journal where it is the last one of it. */
export interface Chainable extends Pending {
  readonly journal?: JournalPart
}

interface JournalRow extends JournalPlace {
  readonly position: number
  readonly entry: Pending
  readonly keyId: string
}

/** The journal of one process, which is a writer of its own. */
export interface Journal {
  /** Stores entries. They are part of the log from then on. @throws Unavailable */
  add(entries: readonly Pending[]): Promise<void>
}

/** The systems that a journal uses. */
export interface JournalPorts {
  readonly database: Pick<Database, 'write'>
  readonly secretsKeys: SecretsKeys
}

type JournalMac = (place: Omit<JournalPlace, 'mac'>, entry: Pending, macBefore: string) => string

function macUnder(secretsKey: SecretsKey): JournalMac {
  const key = secretsKey.derive('audit journal')
  return ({ writer, number }, entry, macBefore) =>
    createHmac('sha256', key)
      .update(JSON.stringify([writer, number, textOf(entry), macBefore, secretsKey.id]))
      .digest('base64url')
}

/** The members in a fixed order: PostgreSQL gives the JSON back as it was sent. */
const textOf = ({ action, actor, address, at, count, outcome, reason, requestId, scheme, target }: Pending): string =>
  JSON.stringify([action, actor, address, at, count, outcome, reason, requestId, scheme, target])

const addSql = `insert into auth.audit_journal (writer, number, entry, key_id, mac)
  select j.writer, j.number, j.entry, j.key_id, j.mac
  from json_to_recordset($1::text::json) as j(writer uuid, number bigint, entry json, key_id text, mac text)
  order by j.number`

/** Creates the journal of this process. Call `add` for one batch after the other. */
export function createJournal({ database, secretsKeys: [secretsKey] }: JournalPorts): Journal {
  const mac = macUnder(secretsKey)
  let last = beginning()
  return {
    add: async (entries) => {
      let place = last
      const rows = entries.map((entry) => {
        const next = { writer: place.writer, number: place.number + 1 }
        place = { ...next, mac: mac(next, entry, place.mac) }
        return { ...place, entry, key_id: secretsKey.id }
      })
      // Whether these are stored is unknown until the answer. A writer with a gap could not be told from a removal.
      last = beginning()
      await database.write(addSql, [JSON.stringify(rows)])
      last = place
    },
  }
}

const beginning = (): JournalPlace => ({ writer: randomUUID(), number: 0, mac: '' })

/** True when entries wait. @throws Unavailable */
export async function hasJournal(database: Pick<Database, 'query'>): Promise<boolean> {
  const [row] = await database.query<{ waits: boolean }>('select exists (select from auth.audit_journal) as waits')
  return row?.waits === true
}

/** What waits in the journal, and what is wrong with it. */
export interface Waiting {
  /** Entries that may be chained, in the order of the journal. */
  readonly entries: readonly Chainable[]
  /** True when an entry was changed or removed, or was written under an unknown key. */
  readonly isDamaged: boolean
  /** True when there may be more. */
  readonly isFull: boolean
}

interface Read extends Omit<Waiting, 'isDamaged'> {
  /** Writers whose chains are broken. */
  readonly damaged: ReadonlySet<string>
  readonly positions: readonly number[]
}

/** How many entries are chained in one transaction at most. */
const maxAtOnce = 500

/** What is read: rows of the journal, and how far their writers are in the chain. */
interface ReadRow {
  readonly rows: readonly JournalRow[]
  readonly places: readonly JournalPlace[]
}

/** Reads the first rows of all writers but these. */
async function readJournal(source: Drizzle, leftOut: ReadonlySet<string>): Promise<ReadRow> {
  const rows = sql<ReadRow['rows']>`(select coalesce(json_agg(j order by j.position), '[]'::json) from (
      select position, writer, number, entry, key_id as "keyId", mac from auth.audit_journal
      where writer <> all(${`{${[...leftOut].join(',')}}`}::text::uuid[])
      order by position limit ${maxAtOnce}::int
    ) j)`
  const places = sql<ReadRow['places']>`(select coalesce(json_agg(p), '[]'::json)
    from (select distinct writer from auth.audit_journal) w cross join lateral (
      (select w.writer, writer_last as number, writer_mac as mac, 1 as source from auth.audit_entries e
        where e.writer = w.writer order by writer_last desc limit 1)
      union all select a.writer, a.number, a.mac, 2 from auth.audit_writers a where a.writer = w.writer
      order by source limit 1) p)`
  const [row] = await source.select({ rows, places }).from(sql`(select 1) one`)
  return row ?? { rows: [], places: [] }
}

/** Checks what waits, without a change. @throws Unavailable */
export async function checkJournal(
  database: Pick<Database, 'drizzle'>,
  secretsKeys: SecretsKeys,
): Promise<Pick<Waiting, 'isDamaged'>> {
  return { isDamaged: judge(await readJournal(database.drizzle, new Set()), secretsKeys).damaged.size > 0 }
}

function judge({ rows, places: known }: ReadRow, secretsKeys: SecretsKeys): Read {
  const macs = new Map(secretsKeys.map((key) => [key.id, macUnder(key)]))
  const places = new Map(known.map((place) => [place.writer, place]))
  const damaged = new Set<string>()
  const sound: JournalRow[] = []
  for (const one of rows) {
    const { number, mac } = places.get(one.writer) ?? { number: 0, mac: '' }
    const isNext = one.number === number + 1 && macs.get(one.keyId)?.(one, one.entry, mac) === one.mac
    if (!isNext) damaged.add(one.writer)
    if (damaged.has(one.writer)) continue
    places.set(one.writer, { writer: one.writer, number: one.number, mac: one.mac })
    sound.push(one)
  }
  return {
    entries: chainable(sound),
    damaged,
    isFull: rows.length === maxAtOnce,
    positions: sound.map(({ position }) => position),
  }
}

/** Entries of sound rows. The last one of each writer says which part of its journal they are. */
function chainable(rows: readonly JournalRow[]): Chainable[] {
  const firsts = new Map(rows.toReversed().map(({ writer, number }) => [writer, number]))
  const lasts = new Map(rows.map(({ writer, number }) => [writer, number]))
  return rows.map(({ entry, writer, number, mac }) =>
    lasts.get(writer) === number
      ? { ...entry, journal: { writer, first: firsts.get(writer) ?? number, last: number, mac } }
      : entry,
  )
}

/** Appends entries to the chain behind a locked head. */
export type AppendLocked = (transaction: Drizzle, entries: readonly Chainable[]) => Promise<AuditHead>

/** What one run has chained. */
export interface Chained extends Omit<Waiting, 'entries'> {
  readonly count: number
  /** The head afterwards; undefined when nothing was chained. */
  readonly head: AuditHead | undefined
}

/** Chains what waits, up to 500 entries. `lockHead` makes two that do it at once take turns. @throws Unavailable */
export function chainJournal(
  database: Pick<Database, 'transaction'>,
  {
    secretsKeys,
    lockHead,
    append,
  }: {
    readonly secretsKeys: SecretsKeys
    readonly lockHead: (transaction: Drizzle) => Promise<unknown>
    readonly append: AppendLocked
  },
): Promise<Chained> {
  return database.transaction(async (transaction) => {
    await lockHead(transaction)
    let read = judge(await readJournal(transaction, new Set()), secretsKeys)
    const damaged = new Set(read.damaged)
    // However much of a broken chain stands before them, the entries of others are reached.
    while (read.entries.length === 0 && read.isFull) {
      read = judge(await readJournal(transaction, damaged), secretsKeys)
      for (const writer of read.damaged) damaged.add(writer)
    }
    const { entries, positions, isFull } = read
    const isDamaged = damaged.size > 0
    if (entries.length === 0) return { count: 0, head: undefined, isDamaged, isFull }
    const head = await append(transaction, entries)
    await transaction
      .delete(auditJournal)
      .where(sql`${auditJournal.position} = any(${`{${positions.join(',')}}`}::bigint[])`)
    return { count: entries.length, head, isDamaged, isFull }
  })
}
