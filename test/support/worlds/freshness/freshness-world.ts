/**
 * Auth servers, deal servers, their database and their cache in virtual time, and what all servers owe their callers.
 */
import { isDeepStrictEqual } from 'node:util'
import { type PrincipalFacts, toStoredPrincipal } from '../../../../auth-server/principals/principal-record.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { principalKey, type StoredPrincipal } from '../../../../shared/protocol/principal/record.ts'
import { AuthProcess, DealProcess, type Follower, type Surroundings } from '../../processes/freshness-processes.ts'
import { SimulatedCacheServer } from './simulated-cache.ts'
import { SimulatedPrincipals } from './simulated-principals.ts'
import { useVirtualTime, VirtualTime } from './virtual-time.ts'

/** A change takes effect everywhere so long after its answer at the latest (docs/contract/callers.md#freshness). */
const effectiveAfterMs = 1_000
/** What a read that began earlier has found out may answer this one. */
const sharedForMs = 500

export interface WorldOptions {
  readonly authServers: number
  readonly dealServers: number
  readonly recordMaxAgeMs: number
  /** Whether deal servers open streams of the change feed while Redis brings nothing; they do not when left out. */
  readonly streams?: boolean
  /** Of the jitter of the network. */
  readonly seed: number
}

type Change = (before: PrincipalFacts) => Partial<PrincipalFacts>

interface Read {
  readonly server: Follower
  readonly username: string
  readonly startedAt: number
  /** The version that must be answered at least, since its change was acknowledged long enough ago. */
  readonly owed: number
  /** The version that an earlier read has answered. */
  readonly answeredBefore: number
}

/** Everything, and the list of what should not have happened. */
export class FreshnessWorld {
  readonly time = new VirtualTime()
  readonly cacheServer: SimulatedCacheServer
  readonly principals = new SimulatedPrincipals(this.time)
  readonly auth: AuthProcess[]
  readonly deals: DealProcess[]
  readonly violations: string[] = []
  readonly #options: WorldOptions
  readonly #around: Surroundings
  readonly #acknowledged: { server: AuthProcess; username: string; version: number; at: number }[] = []

  constructor(options: WorldOptions) {
    this.#options = options
    useVirtualTime(this.time)
    this.cacheServer = new SimulatedCacheServer(this.time)
    const { time, cacheServer, principals } = this
    this.#around = { time, cacheServer, principals, latencyMs: jitter(options.seed) }
    this.auth = Array.from({ length: options.authServers }, () => new AuthProcess(this.#around))
    this.deals = Array.from({ length: options.dealServers }, () => this.#dealProcess())
  }

  /** Starts the auth server at this place, unless it runs. */
  startAuth(at: number): void {
    if (!this.auth[at]?.alive) this.auth[at] = new AuthProcess(this.#around)
  }

  /** For so many milliseconds the database is dead: no auth server reaches it. */
  cutFromDatabase(milliseconds: number): void {
    for (const { database } of this.auth) database.link.cut(milliseconds)
  }

  restartDeal(at: number): void {
    this.deals[at]?.kill()
    this.deals[at] = this.#dealProcess()
  }

  /** Changes a principal at an auth server and notes when that is acknowledged; false when it never is. */
  async change(server: AuthProcess, username: string, change: Change): Promise<boolean> {
    if (!server.alive) return false
    try {
      const version = await server.database.change(username, change)
      const committedAt = this.time.monotonic()
      await server.publisher.waitUntilPublished(version, [{ username, version }])
      if (!server.alive) return false
      const at = this.time.monotonic()
      this.#acknowledged.push({ server, username, version, at })
      const cached = this.cacheServer.versionOf(principalKey(this.principals.instanceId, username))
      const isEarly = at < committedAt + effectiveAfterMs && cached > 0 && cached < version
      if (isEarly) this.violations.push(`${username} ${version} was acknowledged while the cache had ${cached}`)
      return true
    } catch {
      // The caller was told that the database is not available.
      return false
    }
  }

  /** As `change`, and reads everywhere from the moment when it must have taken effect. */
  async changeAndWatch(server: AuthProcess, username: string, change: Change): Promise<void> {
    if (!(await this.change(server, username, change))) return
    void this.read(server, username)
    for (const later of [0, 20, 60, 120, 200, 280, 400, 600]) {
      this.time.after(effectiveAfterMs + later, () => {
        for (const each of this.followers()) void this.read(each, username)
      })
    }
  }

  /** All servers that remember records and are alive. */
  followers(): Follower[] {
    return [...this.deals, ...this.auth.filter(({ alive }) => alive)]
  }

  /** Reads a record and judges the answer. */
  async read(server: Follower, username: string): Promise<void> {
    const startedAt = this.time.monotonic()
    const owed = this.owed(username, startedAt, server)
    const read: Read = { server, username, startedAt, owed, answeredBefore: server.answered.get(username) ?? 0 }
    server.unanswered += 1
    try {
      this.#judge(read, await server.records.get(username))
    } catch (error) {
      this.#judgeFailure(read, error)
    } finally {
      server.unanswered -= 1
    }
  }

  /**
   * The version that a read that begins at this moment must answer at least. The server that made a change owes it at
   * once.
   */
  owed(username: string, at: number, by?: Follower): number {
    const due = this.#acknowledged.filter(
      (one) => one.username === username && (one.server === by || one.at + effectiveAfterMs <= at),
    )
    return Math.max(0, ...due.map(({ version }) => version))
  }

  /** Everything works again; then everything must be as if it always had. */
  async recover(usernames: readonly string[]): Promise<void> {
    // What was to fail later has failed then.
    await this.time.pass(1_500)
    this.cacheServer.start()
    for (const [at] of this.auth.entries()) this.startAuth(at)
    for (const process of [...this.auth, ...this.deals]) process.heal()
    await this.time.pass(5_000)
    const all = this.followers()
    if (all.some(({ unanswered }) => unanswered > 0)) this.violations.push('a read was never answered')
    for (const each of all) for (const username of usernames) await this.#expectPresent(each, username)
    const before = all.map(lookUps)
    for (let count = 0; count < 5; count += 1) {
      for (const each of all) for (const username of usernames) await this.#expectPresent(each, username)
      await this.time.pass(100)
    }
    if (all.map(lookUps).join() !== before.join()) this.violations.push('memory did not answer, though all is well')
  }

  async #expectPresent(server: Follower, username: string): Promise<void> {
    const present = this.principals.versions(username).at(-1)?.facts.version ?? 0
    const answer = await this.time.until(server.records.get(username), 1_000).catch((error: unknown) => error)
    const found = answer instanceof Error ? answer.message : ((answer as StoredPrincipal | undefined)?.version ?? 0)
    if (found !== present) this.violations.push(`all is well, but ${username} is ${found} instead of ${present}`)
  }

  #judge(read: Read, record: StoredPrincipal | undefined): void {
    const { server, username, startedAt, owed, answeredBefore } = read
    const version = record?.version ?? 0
    const say = (what: string) =>
      this.violations.push(`${what}: ${username} read at ${startedAt}, answered ${version} at ${this.time.monotonic()}`)
    server.answered.set(username, Math.max(version, server.answered.get(username) ?? 0))
    if (version < answeredBefore) say(`went back from ${answeredBefore}`)
    if (version < owed && !this.#couldNotKnow(read)) say(`owed ${owed}`)
    const versions = this.principals.versions(username)
    const meant = versions.find(({ facts }) => facts.version === version)
    if (record && !isDeepStrictEqual(record, meant && toStoredPrincipal(meant.facts))) say('never was so')
    const outdatedAt = versions.find(({ facts }) => facts.version > version)?.committedAt ?? Number.POSITIVE_INFINITY
    if (startedAt > outdatedAt + this.#options.recordMaxAgeMs + effectiveAfterMs) say(`outdated since ${outdatedAt}`)
  }

  #judgeFailure(read: Read, error: unknown): void {
    if (!(error instanceof Unavailable)) throw error
    if (read.server.inVainAt >= read.startedAt - sharedForMs) return
    this.violations.push(`no answer for ${read.username} at ${read.startedAt}, though nothing was asked in vain`)
  }

  /** Neither the auth server nor the cache could say it while this was read. */
  #couldNotKnow({ server, username, startedAt, owed }: Read): boolean {
    const since = startedAt - sharedForMs
    // An auth server that does not reach the database answers nothing.
    if (!(server instanceof DealProcess) || server.authLink.lastFailureAt < since) return false
    const cacheFailed = server.cache.link.lastFailureAt >= since || this.cacheServer.lastLossAt >= since
    return cacheFailed || this.cacheServer.versionOf(principalKey(this.principals.instanceId, username)) < owed
  }

  #dealProcess(): DealProcess {
    const { recordMaxAgeMs, streams = false } = this.#options
    return new DealProcess(this.#around, { authServers: () => this.auth, recordMaxAgeMs, streams })
  }
}

const lookUps = (server: Follower): number => server.asked + (server instanceof DealProcess ? server.cache.reads : 0)

/** One to three milliseconds, repeatable (mulberry32). */
function jitter(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return 1 + ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31
  }
}
