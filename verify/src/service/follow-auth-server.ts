/** The data of an auth server, kept fresh: its keys, principals and API keys. */
import type { Principals } from '../../../shared/protocol/authentication/authenticate.ts'
import type { SchemeName } from '../../../shared/protocol/authentication/scheme.ts'
import { type AuthClient, createAuthClient } from '../auth-client/auth-client.ts'
import type { ServiceSystems } from '../auth-client/service-systems.ts'
import { type ApiKeyStore, createApiKeyStore } from '../credentials/api-key-store.ts'
import { createKeyStores, type KeyStores } from '../keys/key-stores.ts'
import { createFeedStream } from '../principals/feed-stream.ts'
import { PrincipalFeed } from '../principals/principal-feed.ts'
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
export function followAuthServer(
  { authUrl, recordMaxAgeMs, schemes }: FollowSettings,
  systems: ServiceSystems,
): Followed {
  const onPublishedKeys = (published: string) => keys.onPublishedKeys(published)
  const authClient = createAuthClient(systems, {
    authUrl,
    onPublishedKeys,
    followed: () => feed.instanceId(),
    onInstance: (instanceId, before) => feed.observeInstance(instanceId, before),
  })
  const following = { ...systems, authClient }
  const keys: KeyStores = createKeyStores(following, schemes)
  const feed: PrincipalFeed = new PrincipalFeed(following)
  feed.onPublishedKeys(onPublishedKeys)
  const feedStream = createFeedStream(following, feed)
  const principals = createPrincipalRecords(following, feed, recordMaxAgeMs)
  const apiKeys = createApiKeyStore(following, principals)
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
