/**
 * After a promotion, the auth servers of the new instance leave a note in the cache for those who follow a former one:
 * a deal server that reaches the cache, and no auth server, learns there which instance to follow. As every entry of
 * the cache, the note bears an HMAC under SERVICE_SECRET (docs/revocation.md#following).
 */
import type { Cache } from '../../platform/cache/cache.ts'
import { instanceIdSchema, instanceKey } from './instance-id.ts'

const keyOf = (former: string): string => instanceKey(former, 'successor')

/** How long a note is kept, in seconds. It is rewritten all the time. */
const lifeSeconds = 86_400

/** An instance, and those before it on the same cluster. */
export interface Succession {
  readonly instanceId: string
  readonly formers: readonly string[]
  /** The number of the history: each promotion has a higher one. */
  readonly number: number
}

/** Leaves the notes. @throws Unavailable */
export async function announceSuccession(cache: Cache, { instanceId, formers, number }: Succession): Promise<void> {
  const note = { version: number, value: instanceId }
  await Promise.all(formers.map((former) => cache.putVersioned(keyOf(former), note, { ttlSeconds: lifeSeconds })))
}

/** The instance that has taken the place of this one; undefined when there is no note. @throws Unavailable */
export async function findSuccessor(cache: Cache, instanceId: string): Promise<string | undefined> {
  const note = await cache.getVersioned(keyOf(instanceId))
  return instanceIdSchema.safeParse(note?.value).data
}
