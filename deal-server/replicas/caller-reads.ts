/**
 * The reader of one caller, over the primary and its replicas. It holds the position up to which the caller has seen. A
 * read and the position of a replica are asked for together; when the replica was behind, its result is dropped, and
 * the primary answers.
 */
import type { Database } from '../../shared/platform/database/database.ts'
import { areOfOneHistory, isPosition, laterOf, type Position, reaches } from '../../shared/platform/history/position.ts'
import type { Replica, ReplicaRead } from '../../shared/platform/postgres/replicas.ts'
import type { BeginReads, CallerReads, DealReader } from '../queries/ports.ts'
import { isWalk } from '../store/list-deals.ts'
import { otherHistory, type ReadPlace, type WhyPrimary } from './count-reads.ts'
import { createSources, type Source, type Sources, whyNot } from './sources.ts'

/** The parts that reads on replicas use. */
export interface ReplicaReadsPorts {
  readonly database: Pick<Database, 'followPositions' | 'ping'>
  /** Reads on the primary. */
  readonly primary: DealReader
  /** At least one. */
  readonly replicas: readonly Replica[]
  readonly count: (place: ReadPlace) => void
}

/** Makes the reads of all callers of a process. */
export function createReplicaReads({ database, primary, replicas, count }: ReplicaReadsPorts): BeginReads {
  let latest: Position | undefined
  database.followPositions?.((position) => {
    latest = laterOf(latest, position)
  })
  const parts = { primary, sources: createSources(replicas), count, latest: () => latest, database }
  return (seen) => new ReadsOfCaller(parts, seen)
}

interface Parts extends Omit<ReplicaReadsPorts, 'replicas'> {
  readonly sources: Sources
  /** The latest position of the primary that this process knows. */
  readonly latest: () => Position | undefined
}

/** What differs between the two places of a read. */
interface TwoWays<Result> {
  primary(): Promise<Result>
  replica(source: Source): Promise<ReplicaRead<Result>>
}

class ReadsOfCaller implements CallerReads {
  readonly reader: DealReader
  readonly #parts: Parts
  readonly #seen: Position | undefined
  /** What replicas have shown. */
  #shown: Position | undefined
  #usesPrimary = false

  constructor(parts: Parts, seen: Position | undefined) {
    this.#parts = parts
    this.#seen = seen
    const { primary } = parts
    this.reader = {
      load: (...given) =>
        this.#read({
          primary: () => primary.load(...given),
          replica: (source) => source.read((reader) => reader.load(...given)),
        }),
      loadText: (id) => this.#read({ primary: () => primary.loadText(id), replica: (source) => source.readText(id) }),
      list: (list) => (isWalk(list) ? this.#walk(list) : this.#either((reader) => reader.list(list))),
      count: (...given) => this.#either((reader) => reader.count(...given)),
      summarize: (request) => this.#either((reader) => reader.summarize(request)),
      listCommands: (...given) => this.#either((reader) => reader.listCommands(...given)),
      history: (...given) => this.#either((reader) => reader.history(...given)),
      assignedTasks: (...given) => this.#either((reader) => reader.assignedTasks(...given)),
    }
  }

  seen(): Position | undefined {
    const [seen, shown, latest] = [this.#seen, this.#shown, this.#parts.latest()]
    if (shown === undefined || this.#usesPrimary) return latest && laterOf(shown, latest)
    return seen && areOfOneHistory(seen, shown) ? laterOf(seen, shown) : shown
  }

  /** The cursor of a walk has the position of its first page, so that no later page is older. */
  async #walk(list: Parameters<DealReader['list']>[0]): ReturnType<DealReader['list']> {
    const last = list.page.after?.at(-1)
    const begun = isPosition(last) ? last : undefined
    const page = await this.#either((reader) => reader.list(list), begun)
    const position = begun ?? this.seen()
    return page.next && position ? { ...page, next: [...page.next, position] } : page
  }

  /** The query builder tells no position, so on the primary a small statement behind it does. */
  #either<Result>(read: (reader: DealReader) => Promise<Result>, alsoSeen?: Position): Promise<Result> {
    const { primary, database } = this.#parts
    const onPrimary = async () => {
      const result = await read(primary)
      await database.ping()
      return result
    }
    return this.#read({ primary: onPrimary, replica: (source) => source.read(read) }, alsoSeen)
  }

  async #read<Result>({ primary, replica }: TwoWays<Result>, alsoSeen = this.#seen): Promise<Result> {
    const latest = this.#parts.latest()
    if (this.#seen === undefined || alsoSeen === undefined) return this.#onPrimary('no-token', primary)
    if (latest === undefined || ![this.#seen, alsoSeen].every((position) => areOfOneHistory(position, latest)))
      return this.#onPrimary(otherHistory, primary)
    const before = laterOf(this.#shown, this.#usesPrimary ? latest : undefined)
    const required = laterOf(laterOf(before, this.#seen), alsoSeen)
    let why: WhyPrimary = 'unavailable'
    for (const source of this.#parts.sources(required)) {
      const read = await replica(source).catch(whyNot)
      if (typeof read === 'string') {
        why = read
        continue
      }
      const { result, from, to } = read
      source.note(from)
      if (from && reaches(from, required)) {
        this.#shown = laterOf(this.#shown, to)
        this.#parts.count(['replica', 'fresh'])
        return result
      }
      why = from && areOfOneHistory(from, required) ? 'behind' : otherHistory
      if (why === 'behind') break
    }
    return this.#onPrimary(why, primary)
  }

  #onPrimary<Result>(why: WhyPrimary, read: () => Promise<Result>): Promise<Result> {
    this.#usesPrimary = true
    this.#parts.count(['primary', why])
    return read()
  }
}
