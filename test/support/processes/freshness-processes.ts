/**
 * Auth and deal servers of which only what concerns principal records is there, over simulated parts in virtual time.
 */
import type { InternalEndpoint } from '../../../auth-server/http/internal/endpoint.ts'
import { feedStreamEndpoint } from '../../../auth-server/http/internal/feed-stream.ts'
import { FeedReader } from '../../../auth-server/principals/feed-reader.ts'
import { createOwnFeed, notWithoutDatabaseMs } from '../../../auth-server/principals/own-feed.ts'
import { PrincipalPublisher } from '../../../auth-server/principals/principal-publisher.ts'
import { readPrincipal } from '../../../auth-server/principals/principal-record.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { createLog } from '../../../shared/platform/log/log.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { type FeedLine, openFeedLine } from '../../../shared/protocol/internal-api/feed-stream.ts'
import { foldUsername, parseStoredPrincipal, type StoredPrincipal } from '../../../shared/protocol/principal/record.ts'
import type { AuthClient } from '../../../verify/src/auth-client/auth-client.ts'
import { CannotSay } from '../../../verify/src/auth-client/cannot-say.ts'
import { createFeedStream, type FeedStream } from '../../../verify/src/principals/feed-stream.ts'
import { FollowedRecords } from '../../../verify/src/principals/followed-records.ts'
import { PrincipalFeed } from '../../../verify/src/principals/principal-feed.ts'
import { fakeSystems } from '../fake-systems.ts'
import { SimulatedCacheClient, type SimulatedCacheServer } from '../worlds/freshness/simulated-cache.ts'
import { SimulatedLink } from '../worlds/freshness/simulated-link.ts'
import { SimulatedDatabase, type SimulatedPrincipals } from '../worlds/freshness/simulated-principals.ts'
import type { VirtualTime } from '../worlds/freshness/virtual-time.ts'

/** What all processes share. */
export interface Surroundings {
  readonly time: VirtualTime
  readonly cacheServer: SimulatedCacheServer
  readonly principals: SimulatedPrincipals
  readonly latencyMs: () => number
}

const log = createLog({ level: 'silent', format: 'json' })

/** A server that remembers principal records. */
export interface Follower {
  readonly records: { get(username: string): Promise<StoredPrincipal | undefined> | StoredPrincipal | undefined }
  /** The highest version that was answered for each user. */
  readonly answered: Map<string, number>
  /** So many reads are under way. */
  unanswered: number
  /** So many records were asked for at auth servers, or in the database. */
  asked: number
  /** When it was last asked in vain. */
  readonly inVainAt: number
}

/** A running auth server, which follows itself. */
export class AuthProcess implements Follower {
  readonly cache: SimulatedCacheClient
  readonly database: SimulatedDatabase
  readonly publisher: PrincipalPublisher
  /** The change feed as a stream. */
  readonly feedStream: InternalEndpoint
  /** The digest of the keys that it publishes. */
  publishedKeys = 'the same'
  readonly records: Follower['records']
  readonly answered = new Map<string, number>()
  unanswered = 0
  asked = 0

  constructor(around: Surroundings) {
    this.cache = new SimulatedCacheClient({ ...around, server: around.cacheServer })
    this.database = new SimulatedDatabase(around)
    const database = this.database as Pick<Database, 'query'> as Database
    this.publisher = new PrincipalPublisher({
      database,
      cache: this.cache,
      clock: around.time,
      log,
      publishedKeys: () => this.publishedKeys,
    })
    this.publisher.start()
    const feedReader = new FeedReader(fakeSystems({ database, cache: this.cache, clock: around.time }))
    this.publisher.onChange(() => feedReader.look())
    const { feed, cache, follow } = createOwnFeed({ clock: around.time, log, feedReader, publisher: this.publisher })
    follow()
    const ask = (username: string) => {
      this.asked += 1
      return readPrincipal({ database, clock: around.time }, username)
    }
    const ports = { clock: around.time, cache, feed, parse: parseStoredPrincipal, ask }
    const followed = new FollowedRecords({ ...ports, recordMaxAgeMs: notWithoutDatabaseMs })
    this.records = { get: (username) => followed.get(foldUsername(username)) }
    this.feedStream = feedStreamEndpoint({
      feedReader,
      clock: around.time,
      services: { renewProof: () => Promise.resolve(undefined) },
      feedStreams: { maxOfUser: 1, maxInAll: 1 },
      publishedKeys: () => this.publishedKeys,
    })
  }

  get alive(): boolean {
    return this.cache.link.alive
  }

  get inVainAt(): number {
    return this.database.link.lastFailureAt
  }

  /** Ends it where it stands. What it has sent arrives, what it would do next never happens. */
  kill(): void {
    this.cache.link.alive = false
    this.database.link.alive = false
  }

  heal(): void {
    this.cache.heal()
    this.database.link.heal()
  }
}

/** What a deal server reaches. */
interface DealOptions {
  readonly authServers: () => AuthProcess[]
  readonly recordMaxAgeMs: number
  /** Whether it opens streams of the change feed. */
  readonly streams: boolean
}

/** A running deal server; it asks the first of the auth servers that is alive. */
export class DealProcess implements Follower {
  readonly cache: SimulatedCacheClient
  readonly authLink: SimulatedLink
  readonly feed: PrincipalFeed
  readonly feedStream: FeedStream
  readonly records: Follower['records']
  readonly answered = new Map<string, number>()
  asked = 0
  /** So many streams were opened. */
  streams = 0
  /** Whether it is refused when it opens one. */
  isStreamRefused = false
  /** When an auth server answered last that it cannot read its database. */
  toldNothingAt = Number.NEGATIVE_INFINITY
  unanswered = 0

  constructor(around: Surroundings, options: DealOptions) {
    const { time } = around
    this.cache = new SimulatedCacheClient({ ...around, server: around.cacheServer })
    this.authLink = new SimulatedLink({ ...around, dependency: 'auth-server', deadlineMs: 3_000 })
    const askAuth = async <T>(question: (publisher: PrincipalPublisher) => Promise<T>): Promise<T> => {
      const answer = await this.authLink.call(() => {
        const { publisher } = running(options.authServers())
        return question(publisher).catch((error: Error) => new CannotSay(error.message))
      })
      if (!(answer instanceof CannotSay)) return answer
      this.toldNothingAt = time.monotonic()
      throw answer
    }
    const instanceId = () => askAuth((publisher) => publisher.instanceId())
    const principal = (username: string) => {
      this.asked += 1
      return askAuth((publisher) => publisher.fill(username))
    }
    const feedLines = (from: Parameters<AuthClient['feedLines']>[0], signal: AbortSignal) => {
      this.streams += 1
      if (this.isStreamRefused) throw new Unavailable('auth-server')
      return this.authLink.stream<FeedLine>((send, ended) => {
        const server = running(options.authServers())
        void streamOf(server, from, { send, ended })
      }, signal)
    }
    const { cache } = this
    const systems = fakeSystems({ cache, authClient: { instanceId, feedLines }, clock: time, log })
    const feed = new PrincipalFeed(systems)
    this.feed = feed
    this.feedStream = createFeedStream(systems, feed)
    const { recordMaxAgeMs } = options
    const parse = parseStoredPrincipal
    const followed = new FollowedRecords({ ...systems, feed, parse, ask: principal, recordMaxAgeMs })
    this.records = { get: (username) => followed.get(foldUsername(username)) }
    void this.feed.start()
    if (options.streams) this.feedStream.start()
  }

  get inVainAt(): number {
    return Math.max(this.authLink.lastFailureAt, this.toldNothingAt)
  }

  kill(): void {
    this.cache.link.alive = false
    this.authLink.alive = false
    this.feedStream.stop()
    void this.cache.close()
  }

  heal(): void {
    this.cache.heal()
    this.authLink.heal()
  }
}

function running(authServers: AuthProcess[]): AuthProcess {
  const server = authServers.find(({ alive }) => alive)
  if (!server) throw new Unavailable('auth-server')
  return server
}

const service = { secret: 'a service secret of the simulation', nonce: 'n'.repeat(24) }

/** Opens the stream of a server, as the deal server that is at `send` sees it. */
async function streamOf(
  { feedStream, cache }: AuthProcess,
  { instance, after }: Parameters<AuthClient['feedLines']>[0],
  { send, ended }: { send: (line: FeedLine) => void; ended: AbortSignal },
): Promise<void> {
  const query = new URLSearchParams({ instance, ...(after === undefined ? {} : { after: String(after) }) })
  const client = { proven: undefined, secret: service.secret, signed: service }
  const input = { request: { method: 'GET', requestId: '', traceId: '' }, path: {}, query, body: undefined, client }
  const { stream } = await feedStream.handle(input)
  let index = 0
  await stream?.({
    write: (sealed) => {
      const line = openFeedLine(String(sealed).trimEnd(), { ...service, index })
      if (!line) throw new Error('a line has no right MAC')
      index += 1
      if (cache.link.alive) send(line)
      return true
    },
    waitingBytes: () => 0,
    drained: () => Promise.resolve(),
    cut: () => undefined,
    ended,
  })
}
