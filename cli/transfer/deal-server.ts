/** The deal server as import and export see it: with a credential, whatever it is. */
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../shared/platform/clock.ts'

/** Sends a request for a path. Refusals are thrown with `status`; so is an error without it when no answer came. */
export interface DealServer {
  fetch(path: string, init?: RequestInit): Promise<Response>
}

/** How long to go on when the server is away. */
export interface Patience {
  /** In milliseconds, from the first failure in a row. */
  readonly patienceMs: number
  readonly signal?: AbortSignal | undefined
  /** The pause before the second attempt, in milliseconds; 250 when left out. It grows. */
  readonly firstPauseMs?: number
}

interface Failure {
  readonly status?: number
  readonly retryAfter?: number | undefined
}

/** A failure that may pass: no answer, a server that is not ready, too many requests. */
function mayPass(error: unknown): error is Failure {
  if (!(error instanceof Error)) return false
  const { status } = error as Failure
  if (status !== undefined) return status === 429 || (status >= 500 && status !== 500)
  return error.name === 'KeyholdUnreachable' || error instanceof TypeError
}

const longestPauseMs = 5_000

/** Pauses after the attempt with this number, from 1; the server may ask for more, in seconds. */
export async function backOff(
  attempt: number,
  { signal, firstPauseMs = 250 }: Patience,
  retryAfter = 0,
): Promise<void> {
  const growing = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1))
  const options = signal === undefined ? {} : { signal }
  const ms = Math.max(retryAfter * 1000, growing * (0.5 + Math.random() / 2))
  await pause(ms, undefined, options).catch(() => signal?.throwIfAborted())
}

/** Sends a request until it is answered, or until the patience ends. @throws the last error */
export async function fetchPatiently(
  server: DealServer,
  request: { readonly path: string; readonly init?: RequestInit },
  patience: Patience,
): Promise<string> {
  const { patienceMs, signal } = patience
  const begun = systemClock.monotonic()
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await server.fetch(request.path, { ...request.init, ...(signal && { signal }) })
      return await response.text()
    } catch (error) {
      signal?.throwIfAborted()
      if (!mayPass(error) || systemClock.monotonic() - begun > patienceMs) throw error
      await backOff(attempt, patience, error.retryAfter)
    }
  }
}
