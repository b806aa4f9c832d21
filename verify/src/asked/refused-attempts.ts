/**
 * The limits of guessing, as a service knows them: the auth server counts, and a service remembers whom it has refused.
 * Without that, a guess that memory answers would tell more than one that the auth server answers.
 */
import { createBoundedCache } from '../../../shared/platform/cache/bounded-cache.ts'
import type { Clock } from '../../../shared/platform/clock.ts'
import { clientPrefix } from '../../../shared/platform/http/client-prefix.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Attempt, LoginThrottle } from '../../../shared/protocol/authentication/login-throttle.ts'
import { foldUsername } from '../../../shared/protocol/principal/record.ts'

/** The refusals that a service remembers. */
export interface RefusedAttempts extends Pick<LoginThrottle, 'judge' | 'noteTry'> {
  /** The result of a question about this attempt. Takes note of a refusal by a limit. @throws errors of the question */
  noting<Result>(attempt: Attempt, answer: Promise<Result>): Promise<Result>
}

const bounds = { maxEntries: 10_000, maxBytes: 4_000_000 }

/** The least time that a refusal is remembered, in seconds. */
const leastSeconds = 1

/** Makes an empty memory of refusals. */
export function createRefusedAttempts(clock: Clock): RefusedAttempts {
  const openAt = createBoundedCache<number>({ ...bounds, clock })
  const nameOf = ({ account = '', address }: Attempt) => `${clientPrefix(address)} ${foldUsername(account)}`
  const note = (attempt: Attempt, { headers, retryAfterSeconds }: ProblemError) => {
    const asked = retryAfterSeconds ?? Number([headers['retry-after']].flat()[0])
    const seconds = Math.max(leastSeconds, asked || 0)
    openAt.set(nameOf(attempt), clock.monotonic() + seconds * 1000, { ttlMs: seconds * 1000 })
  }
  return {
    noting: async (attempt, answer) => {
      try {
        return await answer
      } catch (error) {
        if (error instanceof ProblemError && error.code === 'too-many-attempts') note(attempt, error)
        throw error
      }
    },
    judge: (attempt) => {
      if (openAt.size === 0) return undefined
      const leftMs = (openAt.get(nameOf(attempt)) ?? 0) - clock.monotonic()
      if (leftMs <= 0) return undefined
      const retryAfterSeconds = Math.ceil(leftMs / 1000)
      const detail = 'Too many failed attempts for this account, or from this address.'
      throw new ProblemError('too-many-attempts', detail, { retryAfterSeconds })
    },
    noteTry: () => undefined,
  }
}
