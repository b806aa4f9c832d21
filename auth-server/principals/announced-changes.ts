import type { Listener } from '../../shared/platform/cache/channel-listeners.ts'
import { readStored } from '../../shared/platform/json.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import {
  type Changes,
  type FeedMessage,
  feedChannel,
  feedMessageSchema,
  feedPartSchema,
  maxChangesInMessage,
  seriesChannel,
} from '../../shared/protocol/principal/change-feed.ts'
import { findSuccessor } from '../../shared/protocol/principal/succession.ts'

/** What was announced. Its times are on the monotonic clock, and minus infinity when something may be missing. */
export interface Announced {
  readonly instanceId: string
  /** It is for followers who know all changes up to this version. */
  readonly after: number
  /** The same array until more is announced. */
  readonly changes: Changes
  /** The latest read of the database by another server. All changes up to `upTo` are among `changes`. */
  readonly readAt: number
  readonly upTo: number
  /** Everything announced until then is among `changes`. */
  readonly announcedAt: number
}

const never = Number.NEGATIVE_INFINITY

/** A read of the database. */
interface Read {
  readonly instanceId: string
  readonly counter: number
  readonly readAt: number
}

/** The changes that one process hears of in the cache. */
export class AnnouncedChanges {
  readonly #systems: Systems
  #read: Read | undefined
  #changes: Changes = []
  /** Messages have told of all changes up to this version. */
  #upTo = 0
  /** Of some changes up to this version they have not told the names. */
  #unnamedUpTo = 0
  #readAt = never
  /** The instance whose place another one has taken. */
  #replaced: string | undefined
  #subscriptions: Promise<() => Promise<void>>[] = []

  constructor(systems: Systems) {
    this.#systems = systems
  }

  /** From now on gathers what is announced after this read. */
  noteRead(read: Read): void {
    if (read.instanceId !== this.#read?.instanceId) this.#listenTo(read.instanceId)
    this.#read = read
    this.#upTo = Math.max(this.#upTo, read.counter)
    this.#changes = this.#changes.filter(({ version }) => version > read.counter)
  }

  /** Undefined before the database was read, and after another instance, with other channels, has taken its place. */
  announced(): Announced | undefined {
    if (!this.#read || this.#replaced === this.#read.instanceId) return undefined
    const { instanceId, counter: after, readAt: since } = this.#read
    void this.#lookForSuccessor(instanceId)
    const listening = this.#systems.cache.listening()
    const isCertain = listening !== undefined && listening.since <= since && this.#unnamedUpTo <= after
    const [readAt, announcedAt] = isCertain ? [this.#readAt, listening.until] : [never, never]
    return { instanceId, after, changes: this.#changes, readAt, upTo: this.#upTo, announcedAt }
  }

  async #lookForSuccessor(instanceId: string): Promise<void> {
    const successor = await findSuccessor(this.#systems.cache, instanceId).catch(() => undefined)
    if (successor !== undefined) this.#replaced = instanceId
  }

  #listenTo(instanceId: string): void {
    for (const subscription of this.#subscriptions) void subscription.then((unsubscribe) => unsubscribe())
    this.#changes = []
    this.#upTo = 0
    this.#unnamedUpTo = 0
    this.#readAt = never
    const listen = (channel: string, onText: Listener) =>
      this.#systems.cache.subscribe(channel, (text, heldUpMs) => {
        if (this.#read?.instanceId === instanceId) onText(text, heldUpMs)
      })
    this.#subscriptions = [
      listen(seriesChannel(instanceId), (text, heldUpMs) => {
        const part = readStored(feedPartSchema, text)
        this.#note(part?.changes)
        if (part?.end) this.#advance(part.end, heldUpMs)
      }),
      listen(feedChannel(instanceId), (text, heldUpMs) => {
        const message = readStored(feedMessageSchema, text)
        this.#note(message?.changes)
        if (message) this.#advance(message, heldUpMs)
      }),
    ]
  }

  /** Without `changes` it was a message of another release. */
  #note(changes: Changes | undefined): void {
    if (changes === undefined) this.#unnamedUpTo = Number.POSITIVE_INFINITY
    else if (changes.length > 0) this.#changes = [...this.#changes, ...changes]
    if (this.#changes.length <= maxChangesInMessage) return
    this.#unnamedUpTo = Math.max(this.#unnamedUpTo, ...this.#changes.map(({ version }) => version))
    this.#changes = []
  }

  #advance({ after, upTo, ageMs }: Pick<FeedMessage, 'after' | 'upTo' | 'ageMs'>, heldUpMs: number): void {
    if (after > this.#upTo) this.#unnamedUpTo = Math.max(this.#unnamedUpTo, after)
    this.#upTo = Math.max(this.#upTo, upTo)
    this.#readAt = Math.max(this.#readAt, this.#systems.clock.monotonic() - heldUpMs - ageMs)
  }
}
