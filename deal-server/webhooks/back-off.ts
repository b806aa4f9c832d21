/** When an event is tried again (docs/webhooks.md#retries). Pure. */

/** The pauses before each retry, in milliseconds: the schedule that Standard Webhooks recommends. */
export const standardRetriesMs: readonly number[] = [
  5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000, 86_400_000,
]

interface FailedAttempt {
  /** How many attempts of this event have failed, with this one. */
  readonly attempts: number
  /** Milliseconds that the receiver asked to wait; undefined when it did not. */
  readonly retryAfterMs: number | undefined
  /** From 0 to 1: spreads retries, so that many of them do not come at once. */
  readonly random: number
}

/** How much longer a pause may become by chance. */
const jitter = 0.1

/** The pause before the next attempt, in milliseconds; undefined when no attempt is left. */
export function pauseAfter(
  { attempts, retryAfterMs = 0, random }: FailedAttempt,
  retriesMs: readonly number[] = standardRetriesMs,
): number | undefined {
  const ms = retriesMs[attempts - 1]
  return ms === undefined ? undefined : Math.max(retryAfterMs, Math.round(ms * (1 + jitter * random)))
}
