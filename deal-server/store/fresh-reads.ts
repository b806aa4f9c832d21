/**
 * Reads from replicas that are never older than what their caller has seen or written. A caller brings the position of
 * the log up to which he has seen. The read and the position of the replica are asked for together; when the replica
 * was behind, its result is dropped, and the primary answers.
 */
import { type Database, DatabaseError, type LogPosition, TookTooLong } from '../../shared/platform/database/database.ts'
import { gatherStatements } from '../../shared/platform/database/gather-statements.ts'
import { isToken, laterOf, positionOnTimeline, tokenOf } from '../../shared/platform/database/log-position.ts'
import type { Page } from '../../shared/platform/pagination.ts'
import type { Replica, ReplicaRead } from '../../shared/platform/postgres/replicas.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Deal } from '../domain/deal.ts'
import type { BeginReads, DealReader, DealText, FreshReads, ReadPlace } from '../queries/ports.ts'
import { readTexts } from './deal-text.ts'
import { createDealReads } from './deals.ts'
import { isWalk } from './list-deals.ts'
import { createDealSums, sumPermits } from './sum-deals.ts'

/** The parts that reads on replicas use. */
export interface FreshReadsPorts {
  readonly database: Pick<Database, 'followPositions' | 'ping'>
  /** Reads on the primary. */
  readonly primary: DealReader
  /** At least one. */
  readonly replicas: readonly Replica[]
  readonly count: (place: ReadPlace) => void
}

/** Makes the reads of all requests of a process. */
export function createFreshReads({ database, primary, replicas, count }: FreshReadsPorts): BeginReads {
  let latest: LogPosition | undefined
  database.followPositions?.((position) => {
    latest = laterOf(latest, position)
  })
  const parts: Parts = { primary, sources: createSources(replicas), count, latest: () => latest, database }
  return (seen) => {
    if (seen !== undefined && !isToken(seen)) throw malformed()
    return new RequestReads(parts, seen)
  }
}

interface Parts extends Pick<FreshReadsPorts, 'primary' | 'count'> {
  readonly sources: Sources
  readonly database: Pick<Database, 'ping'>
  /** The latest position of the primary that this process knows. */
  readonly latest: () => LogPosition | undefined
}

/** What differs between the two places of a read. */
interface TwoWays<Result> {
  primary(): Promise<Result>
  replica(source: Source, timeline: string): Promise<ReplicaRead<Result>>
}

type WhyPrimary = Extract<ReadPlace, readonly ['primary', string]>[1]

class RequestReads implements FreshReads {
  readonly reader: DealReader
  readonly #parts: Parts
  readonly #seen: string | undefined
  /** What replicas have shown. */
  #shown: LogPosition | undefined
  #usesPrimary = false

  constructor(parts: Parts, seen: string | undefined) {
    this.#parts = parts
    this.#seen = seen
    const { primary } = parts
    const either = <Result>(read: (reader: DealReader) => Promise<Result>) =>
      this.#read({
        primary: () => this.#withPosition(() => read(primary)),
        replica: (source, timeline) => source.read(timeline, read),
      })
    this.reader = {
      load: (...given) =>
        this.#read({
          primary: () => primary.load(...given),
          replica: (source, timeline) => source.read(timeline, (reader) => reader.load(...given)),
        }),
      loadText: (id) =>
        this.#read({
          primary: () => primary.loadText(id),
          replica: (source, timeline) => source.readText({ id, timeline }),
        }),
      list: (list) => (isWalk(list) ? this.#walk(list) : either((reader) => reader.list(list))),
      count: (...given) => either((reader) => reader.count(...given)),
      summarize: (request) => either((reader) => reader.summarize(request)),
      listCommands: (...given) => either((reader) => reader.listCommands(...given)),
      history: (...given) => either((reader) => reader.history(...given)),
      assignedTasks: (...given) => either((reader) => reader.assignedTasks(...given)),
    }
  }

  usePrimary(): void {
    this.#usesPrimary = true
  }

  token(): string | undefined {
    const latest = this.#parts.latest()
    if (this.#usesPrimary) return latest && tokenOf(laterOf(this.#shown, latest))
    if (!this.#shown) return undefined
    const seen = this.#seen === undefined ? undefined : positionOnTimeline(this.#seen, this.#shown.timeline)
    return tokenOf(laterOf(seen, this.#shown))
  }

  /** The cursor of a walk has the position of its first page, so that no later page is older. */
  async #walk(list: Parameters<DealReader['list']>[0]): ReturnType<DealReader['list']> {
    const { primary } = this.#parts
    const last = list.page.after?.at(-1)
    const begun = isToken(last) ? last : undefined
    const ways: TwoWays<Page<Deal>> = {
      primary: () => this.#withPosition(() => primary.list(list)),
      replica: (source, timeline) => source.read(timeline, (reader) => reader.list(list)),
    }
    const page = await this.#read(ways, begun)
    const token = begun ?? this.token()
    return page.next && token ? { ...page, next: [...page.next, token] } : page
  }

  async #read<Result>({ primary, replica }: TwoWays<Result>, alsoSeen?: string): Promise<Result> {
    const timeline = this.#parts.latest()?.timeline
    if (this.#seen === undefined) return this.#onPrimary('no-token', primary)
    if (timeline === undefined) return this.#onPrimary('timeline', primary)
    const seen = [this.#seen, alsoSeen ?? this.#seen].map((token) => positionOnTimeline(token, timeline))
    if (seen.includes(undefined)) return this.#onPrimary('timeline', primary)
    const before = laterOf(this.#shown, this.#usesPrimary ? this.#parts.latest() : undefined)
    const required = seen.reduce((one, other) => laterOf(one, other), before)
    let why: 'behind' | 'timeline' | 'unavailable' = 'unavailable'
    for (const source of this.#parts.sources.inTurn(required)) {
      const read = await replica(source, timeline).catch(unlessAway)
      if (read === undefined) continue
      const { result, from, to } = read
      source.note(from)
      why = from?.timeline === required?.timeline ? 'behind' : 'timeline'
      if (!from || !to || !required || why === 'timeline') continue
      if (from.lsn < required.lsn) break
      this.#shown = laterOf(this.#shown, to)
      this.#parts.count(['replica', 'fresh'])
      return result
    }
    return this.#onPrimary(why, primary)
  }

  #onPrimary<Result>(why: WhyPrimary, read: () => Promise<Result>): Promise<Result> {
    this.#usesPrimary = true
    this.#parts.count(['primary', why])
    return read()
  }

  /** The query builder tells no position, so a small statement behind it does. */
  async #withPosition<Result>(read: () => Promise<Result>): Promise<Result> {
    const result = await read()
    await this.#parts.database.ping()
    return result
  }
}

/** One replica, as requests use it. */
interface Source {
  readText(item: { readonly id: string; readonly timeline: string }): Promise<ReplicaRead<DealText | undefined>>
  read<Result>(timeline: string, work: (reader: DealReader) => Promise<Result>): Promise<ReplicaRead<Result>>
  /** Takes note of the position that the replica had. */
  note(position: LogPosition | undefined): void
  /** True if the replica was known to have replayed the log so far. */
  has(position: LogPosition | undefined): boolean
}

interface Sources {
  /** The replicas in turn; those that are known to be far enough come first. */
  inTurn(required: LogPosition | undefined): readonly Source[]
}

function createSources(replicas: readonly Replica[]): Sources {
  const sources = replicas.map(createSource)
  let next = 0
  return {
    inTurn: (required) => {
      next = (next + 1) % sources.length
      const turned = [...sources.slice(next), ...sources.slice(0, next)]
      return turned.length === 1 ? turned : turned.sort((a, b) => Number(b.has(required)) - Number(a.has(required)))
    },
  }
}

function createSource(replica: Replica): Source {
  const permits = sumPermits()
  let known: LogPosition | undefined
  const readText = gatherStatements<{ id: string; timeline: string }, ReplicaRead<DealText | undefined>>({
    run: async (items) => {
      const ids = items.map(({ id }) => id)
      const { result, ...positions } = await replica.read('', (reads) => readTexts(reads, ids))
      return result.map((text) => ({ result: text, ...positions }))
    },
  })
  return {
    readText,
    read: (timeline, work) =>
      replica.read(timeline, (reads) => {
        const reader = createDealReads(reads, createDealSums(reads, permits))
        return work({ ...reader, loadText: async (id) => (await readTexts(reads, [id]))[0] })
      }),
    note: (position) => {
      known = position
    },
    has: (required) => known?.timeline === required?.timeline && (known?.lsn ?? '') >= (required?.lsn ?? ''),
  }
}

/** A replica that is away, or ended a statement because of what it replays, is no reason to refuse a read. */
function unlessAway(error: unknown): undefined {
  const isAway = error instanceof Unavailable || error instanceof DatabaseError
  if (!isAway || error instanceof TookTooLong) throw error
}

const malformed = () =>
  new ProblemError('malformed-request', 'The value of Keyhold-Seen must be one that a response of this server had.')
