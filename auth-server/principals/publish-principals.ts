/**
 * One publication: brings the cache up to the database and announces that on the change feed
 * (docs/revocation.md#publishing).
 *
 * The published version is an entry of the cache. It says that in this run of the cache every record is at least as new
 * as that version. No record is put into a cache without a published version, so a run without one holds no record, and
 * every version is true of it. A later run only holds what was read from the database after the run began, so it
 * includes everything published before.
 */

import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Cache, CacheTime } from '../../shared/platform/cache/cache.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { requirePrimary } from '../../shared/platform/history/history.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import { type Catalogue, catalogueName } from '../../shared/protocol/principal/catalogue.ts'
import {
  type Changes,
  type FeedMessage,
  type FeedPart,
  feedChannel,
  feedMessageMaxAgeMs,
  feedMessageTransitMs,
  maxChangesInMessage,
  maxPartsInSeries,
  seriesChannel,
} from '../../shared/protocol/principal/change-feed.ts'
import { instanceKey } from '../../shared/protocol/principal/instance-id.ts'
import { foldUsername, principalKey, type StoredPrincipal } from '../../shared/protocol/principal/record.ts'
import { c, p } from '../store/aliases.ts'
import { principalChangeCounter, principals } from '../store/schema.ts'
import { catalogueOr } from './catalogue.ts'
import { assertSameInstance, instanceIdSql, noCounter, readChangeCounter } from './change-counter.ts'
import { type PrincipalFacts, principalFactsSql, tokensAliveSince, toStoredPrincipal } from './principal-record.ts'

/** The cache key of the published version. */
export const publishedVersionKey = (instanceId: string): string => instanceKey(instanceId, 'principal-feed:upTo')

/** How long a record may stay in the cache, in seconds. */
const recordTtlSeconds = 86_400

/** In seconds; far longer than a record, so that no record outlives its published version. */
const publishedVersionTtlSeconds = 7 * 86_400

/** How many records are read, written and announced at once. */
const batchSize = maxChangesInMessage

/** A publication of many batches takes no longer, in milliseconds. */
const longestPublicationMs = 3_600_000

/** Conditions of `Cache.publish`. */
type Fresh = Parameters<Cache['publish']>[2]

/** What the publisher works with. */
export interface PublisherSystems extends Pick<Systems, 'database' | 'cache' | 'clock'> {
  readonly log: Pick<Log, 'info' | 'warn'>
  /** The digest of the keys that are published now (docs/revocation.md#key-changes). */
  publishedKeys(): string
}

/** The state before a publication. */
export interface PublicationStart {
  /** The instance that the database was so far. */
  readonly instanceId: string
  /** The version up to which this process has published; undefined before its first publication. */
  readonly cursor: number | undefined
  /** Folded names of users whose records are put again although nothing changed. */
  readonly reloads: readonly string[]
}

/** The outcome of a publication. */
export interface Published {
  readonly upTo: number
  readonly since: CacheTime
}

/** The cache holds changes that the database does not know: the database was restored from an older backup. */
export class DatabaseBehindCache extends Error {
  override readonly name = 'DatabaseBehindCache'
}

/** What is stored under one name: of a user, or the catalogue. */
type Facts = PrincipalFacts | Catalogue

const isCatalogue = (facts: Facts): facts is Catalogue => !('username' in facts)

const nameOf = (facts: Facts): string => (isCatalogue(facts) ? catalogueName : foldUsername(facts.username))

interface Batch {
  /** Null on a standby. */
  readonly instanceId: string | null
  readonly counter: number
  readonly tail: readonly Facts[]
  readonly reloaded: readonly Facts[]
}

const t = alias(principals, 't')
const read = parameters({ after: 'bigint', aliveSince: 'timestamptz', reloaded: 'json' })
const facts = catalogueOr(principalFactsSql(read.aliveSince))

const batchSql = read.statement(sql`select json_build_object(
  'instanceId', ${instanceIdSql}, 'counter', ${c.value},
  'tail', coalesce((select json_agg(t.facts order by ${t.principalVersion}) from (
    select ${p.principalVersion}, ${facts} as facts from ${principals} ${p}
    where ${p.principalVersion} > ${read.after}
    order by ${p.principalVersion} limit ${sql.raw(String(batchSize))}) t), '[]'),
  'reloaded', coalesce((select json_agg(${facts}) from ${principals} ${p}
    where ${p.usernameFolded} in (select json_array_elements_text(${read.reloaded}))), '[]')) as batch
  from ${principalChangeCounter} ${c}`)

/**
 * Puts every record that changed after the cursor into the cache, raises the published version, and announces the
 * changes.
 *
 * @returns the version that is now published, and a time in the run of the cache in which it is
 * @throws Unavailable when database or cache do not answer, or another run of the cache has begun
 * @throws OtherInstance when the database was replaced: everything written is true of the former one
 * @throws DatabaseBehindCache when nothing may be published at all
 */
export async function publishPrincipals(systems: PublisherSystems, start: PublicationStart): Promise<Published> {
  const { cache, clock } = systems
  const { instanceId } = start
  let readAt = clock.monotonic()
  const since = await cache.time()
  const publishedVersion = await establishPublishedVersion(systems, since, start)
  const after = Math.min(start.cursor ?? publishedVersion, publishedVersion)
  const published = Math.max(start.cursor ?? publishedVersion, publishedVersion)

  const series = new Series(systems, start, since)
  let { readTime, batch } = { readTime: since, batch: await readBatch(systems, after, start) }
  while (batch.tail.length === batchSize) {
    await putRecords(cache, { instanceId, facts: batch.tail }, since)
    await series.announce(changesOf(batch))
    readAt = clock.monotonic()
    readTime = await cache.time()
    batch = await readBatch(systems, batch.tail[batchSize - 1]?.version ?? after, start)
  }
  if (batch.counter < published)
    throw new DatabaseBehindCache(`change ${published} is in the cache, not in the database`)
  await putRecords(cache, { instanceId, facts: [...batch.tail, ...batch.reloaded] }, since)
  if (series.parts > 0) await assertSameCacheRun(cache, instanceId, since)

  const upTo = batch.counter
  await putPublishedVersion(cache, { instanceId, version: upTo }, { since })
  const ageMs = Math.min(clock.monotonic() - readAt + feedMessageTransitMs, feedMessageMaxAgeMs)
  const span = { after, upTo, ageMs, keys: systems.publishedKeys() }
  const changes = changesOf(batch)
  const fresh = { since: readTime, maxAgeMs: ageMs }
  if (series.parts > 0) await series.end(changes, span, fresh)
  const message: FeedMessage = series.parts > 0 ? { ...span, after: upTo, changes: [] } : { ...span, changes }
  if (!(await cache.publish(feedChannel(instanceId), JSON.stringify(message), fresh))) throw new Unavailable('cache')
  return { upTo, since }
}

/** The published version of the cache. Writes it first when this run has none. */
async function establishPublishedVersion(
  { cache, database }: PublisherSystems,
  since: CacheTime,
  start: PublicationStart,
) {
  const { instanceId, cursor } = start
  const present = await cache.getVersioned(publishedVersionKey(instanceId))
  if (present) return present.version
  const counter = await readChangeCounter(database)
  assertSameInstance(counter, instanceId)
  const version = Math.min(cursor ?? Number.POSITIVE_INFINITY, counter.value)
  await putPublishedVersion(cache, { instanceId, version }, { since, ifAbsent: true })
  const established = await cache.getVersioned(publishedVersionKey(instanceId))
  if (!established) throw new Unavailable('cache')
  return established.version
}

/** False when a higher version is there or the run of the cache is over. `cache.publish` tells callers which it was. */
const putPublishedVersion = (
  cache: Cache,
  { instanceId, version }: { instanceId: string; version: number },
  options: { since: CacheTime; ifAbsent?: boolean },
) =>
  cache.putVersioned(
    publishedVersionKey(instanceId),
    { version, value: String(version) },
    { ...options, ttlSeconds: publishedVersionTtlSeconds },
  )

async function readBatch(systems: PublisherSystems, after: number, start: PublicationStart): Promise<Batch> {
  const { database, clock } = systems
  const batch = batchSql({ after, aliveSince: tokensAliveSince(clock.now()), reloaded: start.reloads })
  const [row] = await database.query<{ batch: Batch }>(...batch)
  if (!row) throw new TypeError(noCounter)
  assertSameInstance({ instanceId: requirePrimary(row.batch.instanceId) }, start.instanceId)
  return row.batch
}

async function putRecords(
  cache: Cache,
  { instanceId, facts }: { instanceId: string; facts: readonly Facts[] },
  since: CacheTime,
): Promise<void> {
  const put = async (one: Facts) => {
    const [name, record] = [nameOf(one), isCatalogue(one) ? one : toStoredPrincipal(one)]
    if (await putRecord(cache, { instanceId, name, record }, since)) return
    // A newer one is there, or the cache has begun another run.
    const present = await cache.getVersioned(principalKey(instanceId, name))
    if (present === undefined || present.version < record.version) throw new Unavailable('cache')
  }
  await Promise.all(facts.map(put))
}

/** A record of an instance, and the name that it is announced under. */
interface NamedRecord {
  readonly instanceId: string
  readonly name: string
  readonly record: StoredPrincipal | Catalogue
}

/**
 * Puts one record under its version, in the run of the cache of `since` only; false when a newer one is there. @throws
 * Unavailable
 */
export const putRecord = (
  cache: Cache,
  { instanceId, name, record }: NamedRecord,
  since: CacheTime,
): Promise<boolean> =>
  cache.putVersioned(
    principalKey(instanceId, name),
    { version: record.version, value: JSON.stringify(record) },
    { since, ttlSeconds: recordTtlSeconds },
  )

/**
 * Throws Unavailable if the cache was restarted. Publishes an empty message, because `putVersioned` does not report a
 * restart.
 */
async function assertSameCacheRun(cache: Cache, instanceId: string, since: CacheTime): Promise<void> {
  const fresh = { since, maxAgeMs: longestPublicationMs }
  if (!(await cache.publish(`${feedChannel(instanceId)}:run`, '', fresh))) throw new Unavailable('cache')
}

/** The changes of a batch, each user once. */
function changesOf(batch: Batch): FeedMessage['changes'] {
  const versions = new Map([...batch.reloaded, ...batch.tail].map((facts) => [nameOf(facts), facts.version]))
  return [...versions].map(([username, version]) => ({ username, version }))
}

/**
 * Announces changes that are committed, by what their statements returned: the database cannot be read. The records
 * follow with a publication. False when there are too many. @throws Unavailable
 */
export async function announceAlone(systems: PublisherSystems, instanceId: string, changes: Changes): Promise<boolean> {
  const series = new Series(systems, { instanceId }, await systems.cache.time())
  for (let at = 0; at < changes.length; at += batchSize) await series.announce(changes.slice(at, at + batchSize))
  return series.parts > 0 && series.parts <= maxPartsInSeries
}

/** The parts of a message that has too many changes for one. */
class Series {
  readonly #cache: Cache
  readonly #channel: string
  readonly #since: CacheTime
  readonly #id = randomUUID()
  /** How many parts there would be; those beyond the largest number are not sent. */
  parts = 0

  constructor({ cache }: PublisherSystems, { instanceId }: Pick<PublicationStart, 'instanceId'>, since: CacheTime) {
    this.#cache = cache
    this.#channel = seriesChannel(instanceId)
    this.#since = since
  }

  /** Sends a part that is not the last one. It claims nothing but its changes, so it may come late. */
  async announce(changes: FeedPart['changes']): Promise<void> {
    await this.#send({ changes }, { since: this.#since, maxAgeMs: longestPublicationMs })
  }

  /** Sends the last part, which is as fresh as a message. */
  async end(changes: FeedPart['changes'], end: FeedPart['end'], fresh: Fresh): Promise<void> {
    await this.#send({ changes, end }, fresh)
  }

  async #send(part: Pick<FeedPart, 'changes' | 'end'>, fresh: Fresh): Promise<void> {
    this.parts += 1
    if (this.parts > maxPartsInSeries) return
    const text = JSON.stringify({ series: this.#id, part: this.parts, ...part } satisfies FeedPart)
    if (!(await this.#cache.publish(this.#channel, text, fresh))) throw new Unavailable('cache')
  }
}
