/**
 * Reads the changes of principals for the streams of the change feed: once for all streams of this process, every
 * 200 ms while there is a stream, and at once when this server has changed somebody. When the database does not answer,
 * streams get what the cache has announced since.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { parameters } from '../../shared/platform/database/statement.ts'
import { requirePrimary } from '../../shared/platform/history/history.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import {
  type Changes,
  heartbeatIntervalMs,
  maxChangesInMessage,
  maxPartsInSeries,
} from '../../shared/protocol/principal/change-feed.ts'
import { c, p } from '../store/aliases.ts'
import { principalChangeCounter, principals } from '../store/schema.ts'
import { type Announced, AnnouncedChanges } from './announced-changes.ts'
import { catalogueVersionSql } from './catalogue.ts'
import { instanceIdSql, noCounter } from './change-counter.ts'

/** What the database held at one moment. */
export interface FeedRead {
  readonly instanceId: string
  /** The latest principal version. */
  readonly counter: number
  /** The version of the catalogue. Changes of services raise it too. */
  readonly catalogueVersion: number
  /** The changes after what any follower knows, in order; all of them unless `isCut`. */
  readonly changes: Changes
  /** There were more changes than are announced. */
  readonly isCut: boolean
  /** A moment before the read, on the monotonic clock. */
  readonly readAt: number
}

/** One stream. */
export interface FeedFollower {
  /** Up to this version it knows all changes; undefined when it knows none. */
  knownUpTo(): number | undefined
  onRead(read: FeedRead): void
  /** The database does not answer. */
  onAnnounced(announced: Announced): void
}

const maxChanges = maxChangesInMessage * maxPartsInSeries

const t = alias(principals, 't')

const changed = parameters({ after: 'bigint' })
const readSql = changed.statement(sql`select json_build_object(
  'instanceId', ${instanceIdSql}, 'counter', ${c.value},
  'catalogueVersion', ${catalogueVersionSql},
  'changes', coalesce((
    select json_agg(json_build_object('username', ${t.usernameFolded}, 'version', ${t.principalVersion})
      order by ${t.principalVersion})
    from (
      select ${p.usernameFolded}, ${p.principalVersion} from ${principals} ${p}
      where ${p.principalVersion} > ${changed.after}
      order by ${p.principalVersion} limit ${sql.raw(String(maxChanges + 1))}) t
    ), '[]')) as read
  from ${principalChangeCounter} ${c}`)

/** The reader of one process. */
export class FeedReader {
  readonly #systems: Systems
  readonly #followers = new Set<FeedFollower>()
  readonly #announced: AnnouncedChanges
  #running: Promise<boolean> | undefined
  #isAskedAgain = false
  #beating: AbortController | undefined

  constructor(systems: Systems) {
    this.#systems = systems
    this.#announced = new AnnouncedChanges(systems)
  }

  /** From now on calls the follower with every read, or what was announced, until the returned function is called. */
  follow(follower: FeedFollower): () => void {
    this.#followers.add(follower)
    if (!this.#beating) {
      this.#beating = new AbortController()
      void this.#beat(this.#beating.signal)
    } else void this.look()
    return () => {
      this.#followers.delete(follower)
      if (this.#followers.size > 0) return
      this.#beating?.abort()
      this.#beating = undefined
    }
  }

  /** Reads now, if somebody follows. Resolves when all followers have the read. Never rejects. */
  async look(): Promise<void> {
    if (this.#followers.size > 0) await this.#read()
  }

  async #beat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const pause = sleep(heartbeatIntervalMs, false, { signal, ref: false }).catch(() => false)
      if (!(await Promise.race([this.#read(), pause]))) this.#tellAnnounced()
      await pause
    }
  }

  #tellAnnounced(): void {
    const announced = this.#announced.announced()
    if (announced) for (const follower of [...this.#followers]) follower.onAnnounced(announced)
  }

  /** A read that begins no earlier than now; false when it failed. */
  #read(): Promise<boolean> {
    if (this.#running) {
      this.#isAskedAgain = true
      return this.#running
    }
    this.#running = this.#readAll().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #readAll(): Promise<boolean> {
    let read: FeedRead | undefined
    do {
      this.#isAskedAgain = false
      read = await this.#readOnce().catch(() => undefined)
      if (!read || this.#followers.size === 0) continue
      this.#announced.noteRead(read)
      for (const follower of [...this.#followers]) follower.onRead(read)
    } while (this.#isAskedAgain && this.#followers.size > 0)
    return read !== undefined
  }

  async #readOnce(): Promise<FeedRead> {
    const readAt = this.#systems.clock.monotonic()
    const known = [...this.#followers].map((follower) => follower.knownUpTo() ?? Number.MAX_SAFE_INTEGER)
    const after = Math.min(Number.MAX_SAFE_INTEGER, ...known)
    const [row] = await this.#systems.database.query<{ read: Row }>(...readSql({ after }))
    if (!row) throw new TypeError(noCounter)
    const { instanceId, ...read } = row.read
    const isCut = read.changes.length > maxChanges
    return { ...read, instanceId: requirePrimary(instanceId), isCut, readAt }
  }
}

interface Row extends Pick<FeedRead, 'counter' | 'catalogueVersion' | 'changes'> {
  /** Null on a standby. */
  readonly instanceId: string | null
}

/** What a follower knows. */
export interface Known {
  readonly instanceId: string
  readonly upTo: number | undefined
}

/** A line before it is completed. */
interface Line {
  readonly changes: Changes
  readonly end?: { readonly after: number; readonly upTo: number }
}

/**
 * The lines that bring a follower from what it knows to what was read. None when the database is older than what it
 * knows: it was restored from an older backup.
 */
export function linesOf({ instanceId, counter, changes, isCut }: FeedRead, known: Known): Line[] {
  const after = known.instanceId === instanceId ? known.upTo : undefined
  if (after === undefined) return [{ changes: [], end: { after: counter, upTo: counter } }]
  if (counter < after) return []
  const missing = changes.filter(({ version }) => version > after)
  if (isCut) return [{ changes: [], end: { after: counter, upTo: counter } }]
  const lines: Line[] = []
  let at = 0
  for (; missing.length - at > maxChangesInMessage; at += maxChangesInMessage)
    lines.push({ changes: missing.slice(at, at + maxChangesInMessage) })
  return [...lines, { changes: missing.slice(at), end: { after, upTo: counter } }]
}
