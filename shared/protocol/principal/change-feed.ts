/**
 * The feed of principal changes: what auth servers publish and deal servers follow.
 *
 * Every change of a principal takes the next change number in its own transaction; the numbers have no gaps and become visible in
 * order, because the row that counts them is locked until the commit. A message says: "in the cache stands every record up to change
 * `upTo`, and `changes` are all principals that changed after `after`". It is sent after every change, before that change is
 * acknowledged, and at least every 200 ms, so it is announcement and heartbeat in one. A reader that has followed up to `after`
 * or further has missed nothing; one that has not knows it. Writer: `auth-server/users/principal-publisher.ts`; reader:
 * `deal-server/auth-client/principal-feed.ts`.
 */
import { z } from 'zod'
import { installationKey } from './instance-id.ts'

/** The channel of an installation's feed messages. */
export const feedChannel = (installationId: string): string => installationKey(installationId, 'principal-feed')

/** How often an auth server publishes when nothing changes, in milliseconds. */
export const heartbeatIntervalMs = 200

/**
 * A deal server whose last message tells of a look into the database longer ago than this trusts neither its memory nor the cache, in
 * milliseconds. Together with the way from the cache to the deal server it must stay below the second that a change may take.
 */
export const feedMaxAgeMs = 800

/** A message may reach the channel at most this long after its look into the database, in milliseconds. */
export const feedMessageMaxAgeMs = 500

/** So long a message may take from its sender to the channel, in milliseconds. */
export const feedMessageTransitMs = 100

/** The form of a message; a reader takes no other. */
export const feedMessageSchema = z.strictObject({
  after: z.number().int(),
  upTo: z.number().int(),
  /** The look into the database was at most this long ago when the message reached the channel, in milliseconds. */
  ageMs: z.number().nonnegative(),
  /** Which keys are published (`shared/protocol/internal-api/published-keys.ts`). */
  keys: z.string(),
  changes: z.array(
    z.strictObject({
      /** Folded user name. */
      username: z.string(),
      /** The version of the record now in the cache: the number of the principal's latest change. */
      version: z.number().int(),
    }),
  ),
})

/** One message. */
export type FeedMessage = z.infer<typeof feedMessageSchema>
