/**
 * The change feed as this auth server follows it, for credentials that it remembers. It takes what `FeedReader` reads
 * from the database every 200 ms, and at once what this server has changed. It decides as deal servers do what may be
 * believed (`keyhold-verify`), with one difference: nothing comes from Redis, and without its database an auth server
 * believes nothing (docs/revocation.md#auth-servers).
 */
import { createUnsharedCache } from '../../shared/platform/cache/unshared-cache.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import { PrincipalFeed } from '../../verify/src/principals/principal-feed.ts'
import { createPrincipalRecords } from '../../verify/src/principals/principal-records.ts'
import { type FeedReader, linesOf } from './feed-reader.ts'
import type { PrincipalPublisher } from './principal-publisher.ts'
import { readInstanceCatalogue, readPrincipal } from './principal-record.ts'

interface OwnSystems extends Pick<Systems, 'database' | 'clock' | 'log'> {
  readonly feedReader: Pick<FeedReader, 'follow'>
  readonly publisher: Pick<PrincipalPublisher, 'instanceId' | 'onChange'>
}

/** RECORD_MAX_AGE of an auth server: no record is that young, so none outlives the database. */
export const notWithoutDatabaseMs = -1

/** Creates the feed. It is current while it is followed. */
export function createOwnFeed({ clock, log, feedReader, publisher }: Omit<OwnSystems, 'database'>) {
  const cache = createUnsharedCache(clock)
  const feed = new PrincipalFeed({ clock, log, cache, authClient: { instanceId: () => publisher.instanceId() } })
  publisher.onChange((changes) => {
    const instanceId = feed.instanceId()
    if (instanceId !== undefined) feed.onLine({ instanceId, changes }, Number.NEGATIVE_INFINITY)
  })
  return {
    feed,
    cache,
    /** Follows until the returned function is called. */
    follow: (): (() => void) =>
      feedReader.follow({
        knownUpTo: () => feed.position()?.after,
        onRead: (read) => {
          const { instanceId, readAt } = read
          feed.observeInstance(instanceId, feed.instanceId())
          for (const { changes, end } of linesOf(read, { instanceId, upTo: feed.position()?.after }))
            feed.onLine({ instanceId, changes, end: end && { ...end, readMs: 0, keys: '' } }, readAt)
        },
        onAnnounced: () => undefined,
      }),
  }
}

/** The principals of an auth server, from memory while the feed is current. */
export function createOwnPrincipals(systems: OwnSystems): Principals & { follow(): () => void } {
  const { database, clock } = systems
  const { feed, cache, follow } = createOwnFeed(systems)
  const authClient = {
    principal: (username: string) => readPrincipal(systems, username),
    catalogue: async () => {
      const { instanceId, catalogue: record } = await readInstanceCatalogue(database)
      return { instanceId, record }
    },
  }
  return { ...createPrincipalRecords({ clock, cache, authClient }, feed, notWithoutDatabaseMs), follow }
}
