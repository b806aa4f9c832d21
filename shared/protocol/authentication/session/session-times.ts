/** What both servers know of a session, and the arithmetic of its times. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { installationKey } from '../../principal/instance-id.ts'

/** A session that has not been ended. Times in milliseconds since the epoch. */
export const knownSessionSchema = z.strictObject({
  /** The public id. */
  id: z.string(),
  username: z.string(),
  userId: z.string(),
  /** The version of its user's principal record in the same snapshot of the database: ending a session raises it. */
  version: z.number().int(),
  generation: z.number().int(),
  /** The last-action time; moves in coarse steps. */
  lastUsedAt: z.number(),
  /** However much used, it ends then. */
  expiresAt: z.number(),
})

export type KnownSession = z.infer<typeof knownSessionSchema>

/** Bytes of a session key. */
export const sessionKeyBytes = 32

/** True for a text of a session key's form: base64url of that many bytes. */
export const isSessionKey = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

/** What is stored, cached and asked for in place of a key: its SHA-256 (base64url). A key is random, so this needs no salt. */
export const sessionKeyHash = (key: string): string => hash('sha256', key, 'base64url')

/** Where the cache has a session. */
export const sessionCacheKey = (installationId: string, keyHash: string): string =>
  installationKey(installationId, `session:${keyHash}`)

/** Unused for too long, or past its longest life. */
export const isOver = ({ lastUsedAt, expiresAt }: KnownSession, now: number, idleTtlMs: number): boolean =>
  expiresAt <= now || lastUsedAt + idleTtlMs <= now

const longestStepMs = 60_000
const stepsPerIdleTtl = 20

/** How old the last-action time may become before it is moved: a session that is in use may end by that much too early, never too late. */
export const stepMs = (idleTtlMs: number): number => Math.min(longestStepMs, idleTtlMs / stepsPerIdleTtl)

/** True when an action of now is to move the last-action time. */
export const isStepDue = ({ lastUsedAt }: KnownSession, now: number, idleTtlMs: number): boolean =>
  now - lastUsedAt >= stepMs(idleTtlMs)
