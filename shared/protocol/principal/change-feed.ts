/**
 * The change feed of principals: auth servers publish it, deal servers follow it (docs/contract/callers.md#freshness).
 *
 * Each change of a principal takes the next version number in its own transaction. The numbers have no gaps and become
 * visible in order, because the row that counts them is locked until the commit. A message says: the cache holds every
 * record up to change `upTo`, and `changes` are all principals that changed after `after`. Auth servers send a message
 * after every change, before they acknowledge the change, and one of them at least every 200 ms: it is announcement and
 * heartbeat in one. A reader that has followed the feed up to `after` or further has missed nothing. Any other reader
 * knows that it missed messages. Writer: `auth-server/principals/principal-publisher.ts`. Reader:
 * `verify/src/principals/principal-feed.ts`.
 */
import * as z from 'zod'
import { instanceKey } from './instance-id.ts'

/** The channel of the feed messages of an instance. */
export const feedChannel = (instanceId: string): string => instanceKey(instanceId, 'principal-feed')

/** How often one of the auth servers publishes while nothing changes, in milliseconds. */
export const heartbeatIntervalMs = 200

/**
 * The largest age of the feed, in milliseconds: the time since the database was read for the last message. With an
 * older feed, a deal server trusts neither its memory nor the cache. This age and the time from the cache to the deal
 * server must stay below the second within which a change takes effect.
 */
export const feedMaxAgeMs = 800

/** The largest age of a message when it reaches the channel, in milliseconds since its read of the database. */
export const feedMessageMaxAgeMs = 500

/** The time that a message may take from its sender to the channel, in milliseconds. */
export const feedMessageTransitMs = 100

const span = {
  after: z.number().int(),
  upTo: z.number().int(),
  /** The largest possible age of the database read when the message reached the channel, in milliseconds. */
  ageMs: z.number().nonnegative(),
  /** The digests of the published keys (`shared/protocol/internal-api/published-keys.ts`). */
  keys: z.string(),
}

/** The form of changes. */
export const changesSchema = z.array(
  z.object({
    /** Folded user name. */
    username: z.string(),
    /** The version of the record in the cache, which is the number of the principal's latest change. */
    version: z.number().int(),
  }),
)

/** Changes. */
export type Changes = z.infer<typeof changesSchema>

/** The form of a message. Readers ignore any other message. */
export const feedMessageSchema = z.object({ ...span, changes: changesSchema })

/** One message. */
export type FeedMessage = z.infer<typeof feedMessageSchema>

/**
 * The channel of series: the parts of one message that has more changes than `maxChangesInMessage`. A message on the
 * feed follows, whose `after` is its `upTo`: it tells readers that have not received the whole series that they missed
 * something.
 */
export const seriesChannel = (instanceId: string): string => instanceKey(instanceId, 'principal-feed:series')

/** How many changes a message or a part has at most. */
export const maxChangesInMessage = 1000

/** How many parts a series has at most. Of more changes, only the fact that there were some is announced. */
export const maxPartsInSeries = 20

/** The form of a part. Parts of one series are numbered from 1. The last one says what all of them span. */
export const feedPartSchema = z.object({
  series: z.uuid(),
  part: z.number().int().positive(),
  changes: changesSchema,
  end: z.object(span).optional(),
})

/** One part of a series. Where none with `end` follows, it says nothing but its changes. */
export type FeedPart = z.infer<typeof feedPartSchema>
