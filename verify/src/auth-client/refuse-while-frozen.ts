import { Availability } from '../../../shared/platform/concurrency/availability.ts'
import { frozenAfterMs, Liveness } from '../../../shared/platform/concurrency/liveness.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'

/** Sends a request and waits for the response, until its own deadline or the abort. */
export type Send<Question, Received> = (question: Question, abort: AbortController) => Promise<Received>

/** Pause between two probes of a frozen server, in milliseconds. */
const probeIntervalMs = 100

/**
 * Requests to a server that may be frozen: its connections are open, but nothing responds. A request waits for at most
 * a second until the server counts as frozen. While it is frozen, requests fail at once, and a probe in the background
 * checks for its return. A busy server still responds to the probe `light`, so its other requests may take longer.
 *
 * @throws Unavailable `auth-server`, and the errors of `send`
 */
export function refuseWhileFrozen<Question, Received>(send: Send<Question, Received>, light: () => Question) {
  const waiting = new Map<AbortController, (reason: Unavailable) => void>()
  const probe = () => send(light(), new AbortController())
  const availability = new Availability({ probe: async () => void (await probe()), probeIntervalMs })
  const onFrozen = () => {
    const reason = new Unavailable('auth-server', { cause: new Error(`no answer to anything for ${frozenAfterMs} ms`) })
    availability.suspend(reason)
    for (const [controller, refuse] of waiting) {
      refuse(reason)
      controller.abort(reason)
    }
  }
  const liveness = new Liveness({ isAwaited: () => waiting.size > 0, probe, onFrozen })
  const ask = (question: Question) =>
    new Promise<Received>((resolve, reject) => {
      availability.check()
      const controller = new AbortController()
      waiting.set(controller, reject)
      liveness.watch()
      const answered = (answer: Received) => {
        liveness.noteAnswer()
        resolve(answer)
      }
      send(question, controller)
        .then(answered, reject)
        .finally(() => waiting.delete(controller))
    })
  /** Stops all requests. */
  const stop = () => {
    liveness.stop()
    availability.stop(new Unavailable('auth-server'))
  }
  return { ask, stop }
}
