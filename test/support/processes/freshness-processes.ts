/**
 * Auth and deal servers of which only what concerns principal records is there, over simulated parts in virtual time.
 */
import { createPrincipalPublisher, type PrincipalPublisher } from '../../../auth-server/users/principal-publisher.ts'
import { createPrincipalFeed, type PrincipalFeed } from '../../../deal-server/auth-client/principal-feed.ts'
import { createPrincipalRecords } from '../../../deal-server/auth-client/principal-records.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { createLog } from '../../../shared/platform/log/log.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { Principals } from '../../../shared/protocol/authentication/authenticate.ts'
import { SimulatedCacheClient, type SimulatedCacheServer } from '../worlds/simulated-cache.ts'
import { SimulatedLink } from '../worlds/simulated-link.ts'
import { SimulatedDatabase, type SimulatedPrincipals } from '../worlds/simulated-principals.ts'
import type { VirtualTime } from '../worlds/virtual-time.ts'

/** What all processes share. */
export interface Surroundings {
  readonly time: VirtualTime
  readonly cacheServer: SimulatedCacheServer
  readonly principals: SimulatedPrincipals
  readonly latencyMs: () => number
}

const log = createLog({ level: 'silent', format: 'json' })

/** A running auth server. */
export class AuthProcess {
  readonly cache: SimulatedCacheClient
  readonly database: SimulatedDatabase
  readonly publisher: PrincipalPublisher
  /** The digest of the keys that it publishes. */
  publishedKeys = 'the same'

  constructor(around: Surroundings) {
    this.cache = new SimulatedCacheClient({ ...around, server: around.cacheServer })
    this.database = new SimulatedDatabase(around)
    const database = this.database as Pick<Database, 'query'> as Database
    this.publisher = createPrincipalPublisher({
      database,
      cache: this.cache,
      clock: around.time,
      log,
      publishedKeys: () => this.publishedKeys,
    })
    this.publisher.start()
  }

  get alive(): boolean {
    return this.cache.link.alive
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

/** A running deal server; it asks the first of the auth servers that is alive. */
export class DealProcess {
  readonly cache: SimulatedCacheClient
  readonly authLink: SimulatedLink
  readonly feed: PrincipalFeed
  readonly records: Principals
  /** The highest version that was answered for each user. */
  readonly answered = new Map<string, number>()
  /** So many records were asked for at auth servers. */
  asked = 0
  /** So many reads are under way. */
  unanswered = 0

  constructor(around: Surroundings, options: { authServers: () => AuthProcess[]; recordMaxAgeMs: number }) {
    const { time } = around
    this.cache = new SimulatedCacheClient({ ...around, server: around.cacheServer })
    this.authLink = new SimulatedLink({ ...around, dependency: 'auth-server', deadlineMs: 3_000 })
    const askAuth = <T>(question: (publisher: PrincipalPublisher) => Promise<T>) =>
      this.authLink.call(() => question(running(options.authServers()).publisher))
    const instanceId = () => askAuth((publisher) => publisher.instanceId())
    const principal = (username: string) => {
      this.asked += 1
      return askAuth((publisher) => publisher.fill(username))
    }
    this.feed = createPrincipalFeed({ cache: this.cache, authClient: { instanceId }, clock: time, log })
    const { feed, cache } = this
    const { recordMaxAgeMs } = options
    this.records = createPrincipalRecords({ feed, cache, authClient: { principal }, clock: time, recordMaxAgeMs })
    void this.feed.start()
  }

  kill(): void {
    this.cache.link.alive = false
    this.authLink.alive = false
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
