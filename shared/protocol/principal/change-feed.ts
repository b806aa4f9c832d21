/**
 * The change feed: auth servers publish it, deal servers follow it (docs/revocation.md).
 *
 * Every change of a principal takes the next version in its own transaction. Versions have no gaps and become visible in order, because the
 * row that counts them is locked until the commit. A message says that the cache holds every record up to version `upTo`, and that
 * `changes` names every principal that changed after `after`. It is sent after every change, before that change is acknowledged, and at
 * least every 200 ms: it is announcement and heartbeat in one. A reader that has followed up to `after` missed nothing. Writer: `auth-server/users/principal-publisher.ts`; reader:
 * `deal-server/auth-client/principal-feed.ts`.
 */
import { z } from 'zod'
import { installationKey } from './instance-id.ts'

/** The channel of an installation's feed messages. */
export const feedChannel = (installationId: string): string => installationKey(installationId, 'principal-feed')

/** How often an auth server publishes when nothing changes, in milliseconds. */
export const heartbeatIntervalMs = 200

/**
 * The feed is current while the last message tells of a read of the database at most this long ago, in milliseconds. Together with the
 * way from the cache to the deal server it must stay below the second that a change may take.
 */
export const feedMaxAgeMs = 800

/** A message may reach the channel at most this long after the read of the database, in milliseconds. */
export const feedMessageMaxAgeMs = 500

/** How long a message may take from its sender to the channel, in milliseconds. */
export const feedMessageTransitMs = 100

/** The form of a message; a reader takes no other. */
export const feedMessageSchema = z.strictObject({
  after: z.number().int(),
  upTo: z.number().int(),
  /** The read of the database was at most this long ago when the message reached the channel, in milliseconds. */
  ageMs: z.number().nonnegative(),
  /** The digest of the published keys (`shared/protocol/internal-api/published-keys.ts`). */
  keys: z.string(),
  changes: z.array(
    z.strictObject({
      /** Folded user name. */
      username: z.string(),
      /** The version of the record that is now in the cache. */
      version: z.number().int(),
    }),
  ),
})

/** One message. */
export type FeedMessage = z.infer<typeof feedMessageSchema>
