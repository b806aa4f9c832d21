import type { Database } from '../../shared/platform/database/database.ts'
import type { AuditEntry } from './audit.ts'

/** An entry with its MAC and the id of the key of the MAC. */
export interface ChainedEntry extends AuditEntry {
  readonly keyId: string
  readonly mac: string
}

const readSql = `select json_build_object('seq', seq, 'actor', actor, 'action', action, 'target', target,
    'outcome', outcome, 'scheme', scheme, 'address', address, 'requestId', request_id, 'count', count,
    'keyId', key_id, 'mac', mac,
    'at', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as entry
  from auth.audit_entries where seq > $1::text::bigint order by seq limit $2::int`

/** Reads at most `limit` entries after the number `after`, in order. @throws Unavailable */
export async function readChainedEntries(
  database: Pick<Database, 'query'>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<ChainedEntry[]> {
  const rows = await database.query<{ entry: ChainedEntry }>(readSql, [String(after), limit])
  return rows.map(({ entry }) => entry)
}

/** One page of the log. */
export interface AuditPage {
  readonly items: readonly AuditEntry[]
  /** The number to continue after; undefined when there are no more entries now. */
  readonly next: number | undefined
}

/** Reads at most `limit` entries after the number `after`, without MACs. @throws Unavailable */
export async function readEntries(
  database: Pick<Database, 'query'>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<AuditPage> {
  const entries = await readChainedEntries(database, { after, limit: limit + 1 })
  const items = entries.slice(0, limit).map(({ keyId: _keyId, mac: _mac, ...entry }) => entry)
  return { items, next: entries.length > limit ? items.at(-1)?.seq : undefined }
}
