/**
 * One flush of the principal feed: brings the cache up to the database and says so on the channel (`shared/protocol/principal/change-feed.ts`).
 *
 * The marker is an entry that says: "in this incarnation of the cache, every record is at least as new as change `version`". Nobody
 * puts a record where there is no marker, so an incarnation without one holds no record, and any number is true of it. What a
 * later incarnation holds was read from the database after it began; what was flushed before that is in whatever it holds.
 */
import type { Cache, CacheMoment } from '../../shared/platform/cache/cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import {
  type FeedMessage,
  feedChannel,
  feedMessageMaxAgeMs,
  feedMessageTransitMs,
} from '../../shared/protocol/principal/change-feed.ts'
import { installationKey } from '../../shared/protocol/principal/instance-id.ts'
import { foldUsername, type PrincipalRecord, principalKey } from '../../shared/protocol/principal/record.ts'
import { assertInstallation, noCounter, readChangeCounter } from './change-counter.ts'
import { type PrincipalFacts, principalFactsSql, tokensAliveSince, toPrincipalRecord } from './principal-record.ts'

/** The cache key of the marker. */
export const feedMarkerKey = (installationId: string): string => installationKey(installationId, 'principal-feed:upTo')

/** A record may stay in the cache this long. */
const recordTtlSeconds = 86_400

/** Far longer than any record stays, so that no record outlives the marker it stands under. */
const markerTtlSeconds = 7 * 86_400

/** So many records are read and written at once. */
const batchSize = 1000

/** Where the flush looks and writes. */
export interface FlushPorts {
  readonly database: Pick<Database, 'query'>
  readonly cache: Cache
  readonly clock: Clock
  /** Which keys are published now (`shared/protocol/internal-api/published-keys.ts`). */
  publishedKeys(): string
}

/** What a flush starts from. */
export interface FlushStart {
  /** Which installation the database was so far. */
  readonly installationId: string
  /** The change up to which this process knows the cache to be; undefined when it has never flushed. */
  readonly cursor: number | undefined
  /** Folded names whose records are put again although nothing changed. */
  readonly reloads: readonly string[]
}

/** The cache holds changes that the database does not know: the database was restored from an older backup. */
export class DatabaseBehindCache extends Error {
  override readonly name = 'DatabaseBehindCache'
}

interface Batch {
  readonly installationId: string
  readonly counter: number
  readonly tail: readonly PrincipalFacts[]
  readonly reloaded: readonly PrincipalFacts[]
}

const batchSql = `select json_build_object(
  'installationId', c.installation_id, 'counter', c.value,
  'tail', coalesce((select json_agg(t.facts order by t.change_number) from (
    select p.change_number, ${principalFactsSql('$2::text::timestamptz')} as facts from auth.principals p
    where p.change_number > $1::text::bigint order by p.change_number limit ${batchSize}) t), '[]'),
  'reloaded', coalesce((select json_agg(${principalFactsSql('$2::text::timestamptz')}) from auth.principals p
    where p.username_folded in (select jsonb_array_elements_text($3::text::jsonb))), '[]')) as batch
  from auth.principal_change_counter c`

/**
 * Puts every record that changed after the cursor into the cache, moves the marker, and publishes.
 *
 * @returns the change number that is now published
 * @throws Unavailable when database or cache do not answer, or the cache's incarnation changed meanwhile
 * @throws OtherInstallation when the database is not the one it was: nothing was written that is not true of the former one
 * @throws DatabaseBehindCache when nothing may be published at all
 */
export async function flushPrincipals(ports: FlushPorts, start: FlushStart): Promise<number> {
  const { cache, clock } = ports
  const { installationId } = start
  let lookedAt = clock.monotonic()
  const since = await cache.moment()
  const marker = await establishMarker(ports, since, start)
  const after = Math.min(start.cursor ?? marker, marker)
  const floor = Math.max(start.cursor ?? marker, marker)

  let { looked, batch } = { looked: since, batch: await readBatch(ports, after, start) }
  let inOneBatch = true
  while (batch.tail.length === batchSize) {
    inOneBatch = false
    await putRecords(cache, { installationId, facts: batch.tail }, since)
    lookedAt = clock.monotonic()
    looked = await cache.moment()
    batch = await readBatch(ports, batch.tail[batchSize - 1]?.version ?? after, start)
  }
  if (batch.counter < floor) throw new DatabaseBehindCache(`change ${floor} is in the cache, not in the database`)
  await putRecords(cache, { installationId, facts: [...batch.tail, ...batch.reloaded] }, since)
  if (!inOneBatch) await assertSameIncarnation(cache, installationId, since)

  const upTo = batch.counter
  await putMarker(cache, { installationId, version: upTo }, { since })
  const ageMs = Math.min(clock.monotonic() - lookedAt + feedMessageTransitMs, feedMessageMaxAgeMs)
  const told = inOneBatch ? announcement(after, batch) : { after: upTo, upTo, changes: [] }
  const message: FeedMessage = { ...told, ageMs, keys: ports.publishedKeys() }
  const fresh = { since: looked, maxAgeMs: ageMs }
  if (!(await cache.publish(feedChannel(installationId), JSON.stringify(message), fresh)))
    throw new Unavailable('cache')
  return upTo
}

/** The version of the marker, which is made when this incarnation has none. */
async function establishMarker({ cache, database }: FlushPorts, since: CacheMoment, start: FlushStart) {
  const { installationId, cursor } = start
  const present = await cache.getVersioned(feedMarkerKey(installationId))
  if (present) return present.version
  const counter = await readChangeCounter(database)
  assertInstallation(counter, installationId)
  const version = Math.min(cursor ?? Number.POSITIVE_INFINITY, counter.value)
  await putMarker(cache, { installationId, version }, { since, ifAbsent: true })
  const established = await cache.getVersioned(feedMarkerKey(installationId))
  if (!established) throw new Unavailable('cache')
  return established.version
}

/** False, which the caller need not look at, when a higher one is there or the incarnation is gone: `publish` tells the two apart. */
const putMarker = (
  cache: Cache,
  { installationId, version }: { installationId: string; version: number },
  options: { since: CacheMoment; ifAbsent?: boolean },
) =>
  cache.putVersioned(
    feedMarkerKey(installationId),
    { version, value: String(version) },
    { ...options, ttlSeconds: markerTtlSeconds },
  )

async function readBatch({ database, clock }: FlushPorts, after: number, start: FlushStart): Promise<Batch> {
  const parameters = [String(after), tokensAliveSince(clock), JSON.stringify(start.reloads)]
  const [row] = await database.query<{ batch: Batch }>(batchSql, parameters)
  if (!row) throw new TypeError(noCounter)
  assertInstallation(row.batch, start.installationId)
  return row.batch
}

async function putRecords(
  cache: Cache,
  { installationId, facts }: { installationId: string; facts: readonly PrincipalFacts[] },
  since: CacheMoment,
): Promise<void> {
  await Promise.all(facts.map((one) => putRecord(cache, { installationId, record: toPrincipalRecord(one) }, since)))
}

/** Puts one record under its version, in the incarnation of `since` only; false when a newer one is there. @throws Unavailable */
export const putRecord = (
  cache: Cache,
  { installationId, record }: { installationId: string; record: PrincipalRecord },
  since: CacheMoment,
): Promise<boolean> =>
  cache.putVersioned(
    principalKey(installationId, record.username),
    { version: record.version, value: JSON.stringify(record) },
    { since, ttlSeconds: recordTtlSeconds },
  )

/** `publish` for nobody: it answers false in every other incarnation, which `putVersioned` cannot tell from a newer entry. */
async function assertSameIncarnation(cache: Cache, installationId: string, since: CacheMoment): Promise<void> {
  const fresh = { since, maxAgeMs: 3_600_000 }
  if (!(await cache.publish(`${feedChannel(installationId)}:incarnation`, '', fresh))) throw new Unavailable('cache')
}

/**
 * After a tail of several batches the changes are too many for a message: `after` equal to `upTo` then tells every follower that it
 * has missed some. This is the message for a tail that fits.
 */
function announcement(after: number, batch: Batch): Omit<FeedMessage, 'ageMs' | 'keys'> {
  const versions = new Map([...batch.reloaded, ...batch.tail].map((facts) => [facts.username, facts.version]))
  const changes = [...versions].map(([username, version]) => ({ username: foldUsername(username), version }))
  return { after, upTo: batch.counter, changes }
}
