/** Session keys, and the computation of session times, as both servers do it. */
import { hash } from 'node:crypto'
import * as z from 'zod'
import { instanceKey } from '../../principal/instance-id.ts'

/** A session that has not been ended. Times in milliseconds since the epoch. */
export const knownSessionSchema = z.object({
  /** The public id. */
  id: z.string(),
  username: z.string(),
  userId: z.string(),
  /** The version of its user's principal record in the same snapshot of the database: ending a session raises it. */
  version: z.number().int(),
  generation: z.number().int(),
  /** The audience that it is for; null: that of the pair. */
  audience: z.string().nullable(),
  /** The last-action time; moves in coarse steps. */
  lastUsedAt: z.number(),
  /** However much used, it ends then. */
  expiresAt: z.number(),
})

export type KnownSession = z.infer<typeof knownSessionSchema>

/** The length of a session key in bytes. */
export const sessionKeyBytes = 32

/** True for the form of a session key: base64url of that many bytes. */
export const isSessionKey = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

/**
 * The SHA-256 (base64url) of a key, which is stored, cached and sent in its place. A key is random, so it needs no
 * salt.
 */
export const sessionKeyHash = (key: string): string => hash('sha256', key, 'base64url')

/** The cache key of a session. */
export const sessionCacheKey = (instanceId: string, keyHash: string): string =>
  instanceKey(instanceId, `session:${keyHash}`)

/** True when the session was unused for too long, or has reached its longest lifetime. */
export const isOver = ({ lastUsedAt, expiresAt }: KnownSession, now: number, idleTtlMs: number): boolean =>
  expiresAt <= now || lastUsedAt + idleTtlMs <= now

const longestStepMs = 60_000
const stepsPerIdleTtl = 20

/**
 * The interval at which the last-action time moves, in milliseconds. A session in use may end this much too early,
 * never too late.
 */
export const stepMs = (idleTtlMs: number): number => Math.min(longestStepMs, idleTtlMs / stepsPerIdleTtl)

/** True when an action at `now` must move the last-action time. */
export const isStepDue = ({ lastUsedAt }: KnownSession, now: number, idleTtlMs: number): boolean =>
  now - lastUsedAt >= stepMs(idleTtlMs)
