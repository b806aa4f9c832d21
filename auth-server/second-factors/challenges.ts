/**
 * Sealed challenges: what the server must know at the second step of a login or a set-up travels with the client, which
 * cannot read or change it. A challenge has one purpose, one user, and five minutes.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import * as z from 'zod'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Sealing } from '../store/sealing.ts'

/** The uses of a challenge. `enrol`: the first factor, at a login. */
export type ChallengePurpose = 'login' | 'enrol' | 'totp' | 'passkey'

const ttlMs = 300_000

/** A longer text is no challenge. */
export const maxChallengeLength = 2_000

const schema = z.object({
  /** Its own id: a passkey answers it once. */
  id: z.string(),
  userId: z.string(),
  username: z.string(),
  /** SHA-256 of the stored hash of the password that was proved: a new password ends the challenge. */
  password: z.string().optional(),
  generation: z.number().int().optional(),
  /** The WebAuthn challenge, base64url. */
  webauthn: z.string().optional(),
  /** The secret of the one-time codes that are being set up. */
  totp: z.string().optional(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
})

/** The content of a challenge. */
export type Challenge = z.infer<typeof schema>

/** Seals and opens challenges. */
export type Challenges = ReturnType<typeof createChallenges>

/** Creates the challenges. */
export const createChallenges = ({ sealing, clock }: { sealing: Sealing; clock: Clock }) => ({
  seal: (purpose: ChallengePurpose, content: Omit<Challenge, 'expiresAt'>): string =>
    sealing.seal(JSON.stringify({ ...content, expiresAt: clock.now() + ttlMs }), placeOf(purpose)),
  /** Undefined for a text that is no challenge of this purpose, or has expired. */
  open: (purpose: ChallengePurpose, text: string): Challenge | undefined => {
    if (text.length > maxChallengeLength) return undefined
    try {
      const content = schema.parse(JSON.parse(sealing.open(text, placeOf(purpose))))
      return content.expiresAt > clock.now() ? content : undefined
    } catch {
      // Also a challenge under a key that SECRETS_KEY no longer has: the client sent it, and begins again.
      return undefined
    }
  },
})

const placeOf = (purpose: ChallengePurpose) => ({ purpose: 'second-factor-challenge', row: purpose })

/** Names a stored password hash without revealing it. */
export const passwordMark = (passwordHash: string): string => hash('sha256', passwordHash, 'base64url')

/** True when the challenge was made for this stored password hash. */
export function isOfPassword({ password }: Challenge, passwordHash: string): boolean {
  const [made, stored] = [Buffer.from(password ?? ''), Buffer.from(passwordMark(passwordHash))]
  return made.length === stored.length && timingSafeEqual(made, stored)
}
