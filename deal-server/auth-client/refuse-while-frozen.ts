import { Availability } from '../../shared/platform/concurrency/availability.ts'
import { frozenAfterMs, Liveness } from '../../shared/platform/concurrency/liveness.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'

/** Sends something and waits for its answer; gives up by a deadline of its own, or when it is aborted. */
export type Send<Question, Received> = (question: Question, abort: AbortController) => Promise<Received>

/** Pause between two looks whether a server that was frozen answers again, in milliseconds. */
const probeIntervalMs = 100

export interface Questions<Question, Received> {
  /** @throws Unavailable `auth-server`, and whatever `send` throws */
  readonly ask: (question: Question) => Promise<Received>
  /** From now on nobody is asked. */
  stop(): void
}

/**
 * Questions to a server that may be frozen: its connections stand, and nothing answers. Nobody waits longer than a second for that, and while
 * it lasts nobody waits at all; one question in the background finds out when it is over. A server that is busy answers `light` meanwhile,
 * and may take its time with the rest.
 *
 * @throws Unavailable `auth-server`, and whatever `send` throws
 */
export function refuseWhileFrozen<Question, Received>(
  send: Send<Question, Received>,
  light: () => Question,
): Questions<Question, Received> {
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
        liveness.heard()
        resolve(answer)
      }
      send(question, controller)
        .then(answered, reject)
        .finally(() => waiting.delete(controller))
    })
  const stop = () => {
    liveness.stop()
    availability.stop(new Unavailable('auth-server'))
  }
  return { ask, stop }
}
