/**
 * A Redis in virtual time: one server that can be killed and started from a dump, and clients whose connections can
 * fail.
 */
import { AttemptCounts } from '../../../../shared/platform/cache/attempt-counts.ts'
import type {
  AttemptVerdict,
  Cache,
  CacheRuns,
  CacheTime,
  LimitedKey,
  Listening,
  PutOptions,
  Versioned,
} from '../../../../shared/platform/cache/cache.ts'
import type { Listener } from '../../../../shared/platform/cache/channel-listeners.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { SimulatedLink } from './simulated-link.ts'
import type { VirtualTime } from './virtual-time.ts'

type Subscriber = (channel: string, message: string) => void

interface Entry extends Versioned {
  /** The run of its node, on another node than the first one behind the run of that. */
  readonly run: string
  readonly expiresAt: number
}

interface CacheNode {
  entries: Map<string, Entry>
  dump: Map<string, Entry>
  run: string
  running: boolean
}

/**
 * The server. Like the scripts of the Redis cache, it believes nothing across runs. With several nodes it is a Cluster:
 * the first one has the channels and what belongs to them, the lanes spread over all.
 */
export class SimulatedCacheServer {
  readonly #time: VirtualTime
  readonly #subscribers = new Map<Subscriber, () => void>()
  readonly #nodes: readonly CacheNode[]
  readonly #first: CacheNode
  #runs = 0
  readonly attempts: AttemptCounts
  /** When it forgot something last. */
  lastLossAt = Number.NEGATIVE_INFINITY

  constructor(time: VirtualTime, nodes = 1) {
    this.#time = time
    this.attempts = new AttemptCounts(time)
    this.#first = this.#newNode()
    this.#nodes = [this.#first, ...Array.from({ length: nodes - 1 }, () => this.#newNode())]
  }

  /** Each of these methods is about all nodes, or about the one at a place. */
  dump(at?: number): void {
    for (const node of this.#at(at)) node.dump = new Map(node.entries)
  }

  kill(at?: number): void {
    this.lastLossAt = this.#time.monotonic()
    for (const node of this.#at(at)) node.running = false
    if (this.#first.running) return
    const lost = [...this.#subscribers.values()]
    this.#subscribers.clear()
    for (const tell of lost) tell()
  }

  /** Starts it with what the last dump holds. */
  start(at?: number): void {
    for (const node of this.#at(at)) {
      if (node.running) continue
      node.entries = new Map(node.dump)
      node.run = this.#newRun()
      node.running = true
    }
  }

  evict(key: string): void {
    this.lastLossAt = this.#time.monotonic()
    this.#nodeOf(key).entries.delete(key)
  }

  /** The version that a reader would find; 0 when it would find none. */
  versionOf(key: string): number {
    const node = this.#nodeOf(key)
    const present = node.running ? this.#present(key) : undefined
    const isBelieved = present && (present.run === node.run || present.run === `${this.#first.run}/${node.run}`)
    return isBelieved ? present.version : 0
  }

  put(key: string, { version, value }: Versioned, options: PutOptions): boolean {
    const node = this.#running(this.#nodeOf(key))
    const run = options.since === undefined ? node.run : runWithin(runsIn(options.since), node.run)
    if (run === undefined) return false
    const present = this.#present(key)
    if (present?.run === run && (options.ifAbsent || present.version > version)) return false
    const expiresAt = this.#time.monotonic() + options.ttlSeconds * 1000
    node.entries.set(key, { version, value, run, expiresAt })
    return true
  }

  get(key: string, among: CacheRuns | undefined): Versioned | undefined {
    const node = this.#running(this.#nodeOf(key))
    if (this.#nodes.length > 1 && among && among.runs === undefined) return undefined
    const present = this.#present(key)
    const isBelieved =
      among?.runs === undefined
        ? present?.run.split('/').at(-1) === node.run
        : present?.run === runWithin(among.runs, node.run)
    return present && isBelieved ? { version: present.version, value: present.value } : undefined
  }

  time(): CacheTime {
    const [first, ...others] = this.#nodes.map((node) => this.#running(node).run)
    const runs = others.length === 0 ? first : `${first}@${others.join(',')}`
    return `${runs}:${this.#time.monotonic()}`
  }

  publish(channel: string, message: string, fresh: { since: CacheTime; maxAgeMs: number }): boolean {
    this.#running(this.#first)
    const [run] = runsIn(fresh.since).split('@')
    const at = Number(fresh.since.slice(fresh.since.lastIndexOf(':') + 1))
    if (run !== this.#first.run || this.#time.monotonic() - at > fresh.maxAgeMs) return false
    for (const subscriber of this.#subscribers.keys()) subscriber(channel, message)
    return true
  }

  /** False when it is not running; `onLost` is called when it stops doing so. */
  attach(subscriber: Subscriber, onLost: () => void): boolean {
    if (this.#first.running) this.#subscribers.set(subscriber, onLost)
    return this.#first.running
  }

  detach(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber)
  }

  isAttached(subscriber: Subscriber): boolean {
    return this.#subscribers.has(subscriber)
  }

  #at(at: number | undefined): readonly CacheNode[] {
    return at === undefined ? this.#nodes : this.#nodes.slice(at % this.#nodes.length).slice(0, 1)
  }

  #nodeOf(key: string): CacheNode {
    const lane = Number(/^\{keyhold:(\d+)\}/.exec(key)?.[1] ?? 0)
    return this.#nodes[lane % this.#nodes.length] ?? this.#first
  }

  /** What stands under the key, believed or not. */
  #present(key: string): Entry | undefined {
    const entry = this.#nodeOf(key).entries.get(key)
    return entry && entry.expiresAt > this.#time.monotonic() ? entry : undefined
  }

  #newRun(): string {
    this.#runs += 1
    return `run${this.#runs}`
  }

  #newNode(): CacheNode {
    return { entries: new Map(), dump: new Map(), run: this.#newRun(), running: true }
  }

  #running(node: CacheNode): CacheNode {
    if (!node.running) throw new Unavailable('cache')
    return node
  }
}

const runsIn = (time: CacheTime): string => time.slice(0, time.lastIndexOf(':'))

/** As in the scripts. */
function runWithin(runs: string, here: string): string | undefined {
  const [first, others = ''] = runs.split('@')
  if (first === here) return here
  return others.split(',').includes(here) ? `${first}/${here}` : undefined
}

const reconnectMs = 100

/** A client: commands on one link; a connection of its own for what it hears, tried again until it stands. */
export class SimulatedCacheClient implements Cache {
  readonly link: SimulatedLink
  readonly #time: VirtualTime
  readonly #server: SimulatedCacheServer
  readonly #listeners = new Map<string, Listener>()
  /** Whether the subscription's connection does not answer. */
  silent = false
  #slownessMs = 0
  #attachedAt = 0
  #deafUntil = 0
  #reads = 0

  constructor(options: { time: VirtualTime; server: SimulatedCacheServer; latencyMs: () => number }) {
    this.#time = options.time
    this.#server = options.server
    this.link = new SimulatedLink({ ...options, dependency: 'cache', deadlineMs: 300 })
  }

  /** So many reads were asked for. */
  get reads(): number {
    return this.#reads
  }

  /** The subscription breaks, and stands again after so many milliseconds: what is published meanwhile is lost. */
  deafen(milliseconds: number): void {
    this.#server.detach(this.#hear)
    this.#deafUntil = Math.max(this.#deafUntil, this.#time.monotonic() + milliseconds)
    this.#time.after(milliseconds, this.#connect)
  }

  listening(): Listening | undefined {
    const isListening = this.#server.isAttached(this.#hear) && !this.silent
    return isListening ? { since: this.#attachedAt, until: this.#time.monotonic() - 1 - this.#slownessMs } : undefined
  }

  /** From now on messages take so much longer to arrive, in milliseconds. */
  slowDown(milliseconds: number): void {
    this.#slownessMs = milliseconds
  }

  isSilent(): boolean {
    return this.silent
  }

  heal(): void {
    this.link.heal()
    this.#slownessMs = 0
    this.silent = false
    this.#deafUntil = 0
    this.#connect()
  }

  /** This server knows of none. */
  useNumber(): Promise<'unknown'> {
    return this.link.call(() => 'unknown')
  }

  startNumbers(): Promise<void> {
    return this.link.call(() => undefined)
  }

  beginAttempt(keys: readonly LimitedKey[], id: string): Promise<AttemptVerdict> {
    return this.link.call(() => this.#server.attempts.begin(keys, id))
  }

  endAttempt(keys: readonly LimitedKey[], attempt: { id: string; failed: boolean }): Promise<void> {
    return this.link.call(() => this.#server.attempts.end(keys, attempt))
  }

  allowsAttempt(keys: readonly LimitedKey[]): Promise<AttemptVerdict> {
    return this.link.call(() => this.#server.attempts.allows(keys))
  }

  putVersioned(key: string, entry: Versioned, options: PutOptions): Promise<boolean> {
    return this.link.call(() => this.#server.put(key, entry, options))
  }

  getVersioned(key: string, among?: CacheRuns): Promise<Versioned | undefined> {
    this.#reads += 1
    return this.link.call(() => this.#server.get(key, among))
  }

  time(): Promise<CacheTime> {
    return this.link.call(() => this.#server.time())
  }

  publish(channel: string, message: string, fresh: { since: CacheTime; maxAgeMs: number }): Promise<boolean> {
    return this.link.call(() => this.#server.publish(channel, message, fresh))
  }

  async subscribe(channel: string, listener: Listener): Promise<() => Promise<void>> {
    this.#listeners.set(channel, listener)
    this.#connect()
    return async () => {
      this.#listeners.delete(channel)
    }
  }

  async ping(): Promise<void> {
    await this.time()
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }

  readonly #connect = (): void => {
    if (this.#listeners.size === 0 || this.#server.isAttached(this.#hear)) return
    const connected = this.#time.monotonic() >= this.#deafUntil && this.#server.attach(this.#hear, this.#reconnect)
    if (connected) this.#attachedAt = this.#time.monotonic()
    else this.#reconnect()
  }

  readonly #reconnect = (): void => {
    this.#time.after(reconnectMs, this.#connect)
  }

  readonly #hear = (channel: string, message: string): void => {
    const onItsWayMs = 1 + this.#slownessMs
    this.#time.after(onItsWayMs, () => this.#listeners.get(channel)?.(message, onItsWayMs))
  }
}
