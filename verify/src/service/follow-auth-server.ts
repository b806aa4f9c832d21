/** The data of an auth server, kept fresh: its keys, principals and API keys. */
import type { Cache } from '../../../shared/platform/cache/cache.ts'
import type { Clock } from '../../../shared/platform/clock.ts'
import type { IdSource } from '../../../shared/platform/ids.ts'
import type { Log } from '../../../shared/platform/log/log.ts'
import type { Principals } from '../../../shared/protocol/authentication/authenticate.ts'
import type { SchemeName } from '../../../shared/protocol/authentication/scheme.ts'
import { type AuthClient, createAuthClient } from '../auth-client/auth-client.ts'
import { type ApiKeyStore, createApiKeyStore } from '../credentials/api-key-store.ts'
import { createKeyStores, type KeyStores } from '../keys/key-stores.ts'
import { createFeedStream } from '../principals/feed-stream.ts'
import { createPrincipalFeed, type PrincipalFeed, type StreamedFeed } from '../principals/principal-feed.ts'
import { createPrincipalRecords } from '../principals/principal-records.ts'

/** Which auth server is followed, and how long its word holds without it. */
export interface FollowSettings {
  /** The URL of the auth server, without a slash at the end. */
  readonly authUrl: string
  /** How long a principal record is used while the auth server cannot be reached, in milliseconds. */
  readonly recordMaxAgeMs: number
  /** The enabled schemes. */
  readonly schemes: readonly SchemeName[]
}

/** The parts that the service gives. */
export interface FollowPorts {
  readonly cache: Cache
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Pick<Log, 'debug' | 'info' | 'warn' | 'error'>
  readonly fetch: typeof globalThis.fetch
  /** The id of the service; left out for the deal server, which has SERVICE_SECRET. */
  readonly serviceId?: string
  /** The current secret of the service at the auth server. */
  readonly serviceSecret: string
  /** Called when the auth server refuses the credential of the service itself. */
  readonly onRefused?: () => void
}

/** An auth server that is followed. */
export interface Followed {
  readonly authClient: AuthClient
  readonly keys: KeyStores
  readonly apiKeys: ApiKeyStore
  readonly feed: PrincipalFeed
  readonly principals: Principals
  /** Begins to follow the keys and the change feed. Does not wait for an auth server that is down. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Makes all that follows an auth server. It asks nothing before it is started. */
export function followAuthServer({ authUrl, recordMaxAgeMs, schemes }: FollowSettings, ports: FollowPorts): Followed {
  const { cache, clock, ids, log, fetch, serviceSecret: secret, serviceId: id, onRefused } = ports
  const onPublishedKeys = (published: string) => keys.onPublishedKeys(published)
  const authClient = createAuthClient({
    authUrl,
    id,
    secret,
    clock,
    ids,
    fetch,
    onPublishedKeys,
    followed: () => feed.instanceId(),
    onInstance: (instanceId, before) => feed.observeInstance(instanceId, before),
    onRefused,
  })
  const keys: KeyStores = createKeyStores({ authClient, schemes, clock, log })
  const feed: PrincipalFeed & StreamedFeed = createPrincipalFeed({ cache, authClient, clock, log })
  feed.onPublishedKeys(onPublishedKeys)
  const feedStream = createFeedStream({ feed, authClient, clock, log })
  const principals = createPrincipalRecords({ feed, cache, authClient, clock, recordMaxAgeMs })
  const apiKeys = createApiKeyStore({ authClient, principals, clock, log, secret })
  return {
    authClient,
    keys,
    apiKeys,
    feed,
    principals,
    start: async () => {
      await Promise.all([feed.start(), keys.refresh()])
      keys.start()
      feedStream.start()
    },
    stop: async () => {
      keys.stop()
      feedStream.stop()
      await feed.stop()
      authClient.stop()
    },
  }
}
