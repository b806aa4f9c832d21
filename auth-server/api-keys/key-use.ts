/** Stores the expiry of tokens made with a key. Deletes old keys. */

import { sql } from 'drizzle-orm'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import { gatherStatements } from '../../shared/platform/database/gather-statements.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { isId } from '../../shared/platform/ids.ts'
import type { ChangeEntry } from '../../shared/protocol/entry-changes.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql, type Pending } from '../audit/journal.ts'
import { tokensAliveSince } from '../principals/principal-record.ts'
import { k } from '../store/aliases.ts'
import { apiKeys } from '../store/schema.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'

const kept = parameters({ input: 'json', now: 'timestamptz', entries: 'json' })
/**
 * `input`: `[{id, until}]`, each id once; `entries`: `[{id, entries}]`, the audit entries. Returns the keys that are
 * neither revoked nor expired, and are kept until then. A key whose row has to be written is locked: the statement runs
 * before a revocation, which then sees the token, or it finds the key revoked. A row that is kept long enough is only
 * read: a later revocation sees that time.
 */
const keepSql = kept.statement(sql`with input as (
    select ${k.id}, i.until, ${k.tokensExpireAt} >= i.until as is_kept
    from json_to_recordset(${kept.input}) as i(id uuid, until timestamptz)
    cross join lateral (select * from ${apiKeys} where ${apiKeys.id} = i.id limit 1) k
    where ${k.revokedAt} is null and (${k.expiresAt} is null or ${k.expiresAt} > ${kept.now})
  ),
  locked as materialized (
    select ${k.id} from ${apiKeys} ${k} where ${k.id} = any(array(select id from input where is_kept is not true))
    order by ${k.id} for no key update
  ),
  kept as (
    update ${apiKeys} ${k} set ${namesOf(apiKeys, 'tokensExpireAt')} = greatest(${k.tokensExpireAt}, i.until)
    from input i join locked l on l.id = i.id where ${k.id} = i.id and ${k.revokedAt} is null
    returning ${k.id}
  ),
  good as (select id from kept union all select id from input where is_kept),
  noted as (${insertEntriesSql(
    sql`n.entries`,
    sql`json_to_recordset(${kept.entries}) as n(id uuid, entries json)
    join good on good.id = n.id`,
  )})
  select id::text as id from good`)

/** Steps in which the expiry of the last token moves, in milliseconds: most tokens of a busy key need no write. */
const keptStepMs = 10_000

interface Kept {
  readonly id: string
  readonly until: number
  readonly entries: readonly Pending[]
}

/**
 * Remembers that an access token made with the key is valid until `expiresAt` (milliseconds), with this audit entry.
 * False when the key was revoked or has expired. @throws Unavailable
 */
export function createKeepForTokens({ database, clock }: AuthSystems) {
  const keep = gatherStatements<Kept, boolean>({
    run: async (items) => {
      const latest = new Map<string, number>()
      for (const { id, until } of items) latest.set(id, Math.max(until, latest.get(id) ?? 0))
      const input = Array.from(latest, ([id, until]) => ({ id, until: rfc3339(until) }))
      const entries = items.map(({ id, entries: ofItem }) => ({ id, entries: ofItem }))
      const rows = await database.write<{ id: string }>(...keepSql({ input, now: rfc3339(clock.now()), entries }))
      const found = new Set(rows.map(({ id }) => id))
      return items.map(({ id }) => found.has(id))
    },
  })
  return async (id: string, expiresAt: number, entry?: ChangeEntry): Promise<boolean> => {
    if (!isId(id)) return false
    const { entries } = entriesUnderWay()(entry ? [entry] : [])
    return keep({ id, until: Math.ceil(expiresAt / keptStepMs) * keptStepMs, entries })
  }
}

/** Deletes revoked and expired keys when the last token made with them has expired, for the slowest clock too. */
export const createApiKeyExpiry = (clock: Clock): HousekeepingJob =>
  expiryJob({
    name: 'API keys',
    table: apiKeys,
    expiresAt: sql`least(${apiKeys.revokedAt}, ${apiKeys.expiresAt})`,
    expiredBy: () => tokensAliveSince(clock.now()),
    condition: (expiredBy) => sql`coalesce(${apiKeys.tokensExpireAt} <= ${expiredBy}, true)`,
  })
