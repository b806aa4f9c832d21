import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../shared/clock.ts'
import { Unavailable } from '../../shared/errors.ts'
import { createFloodFilter, type FloodingRefusal } from '../../shared/limits/flood-filter.ts'
import { type LimitRefusal, maxRefusalsAtOnce } from '../../shared/limits/limit-refusals.ts'
import type { Log } from '../../shared/log.ts'
import type { AuthClient } from './auth-client.ts'

export interface RefusalReportsPorts {
  readonly authClient: Pick<AuthClient, 'ask'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
  /** How long to wait before each further try, in milliseconds; 1 000 and 4 000 when left out. */
  readonly waitsMs?: readonly number[]
}

/** Tells the auth server, for its audit log, of what a limit refused here. */
export interface RefusalReports {
  /** In the background: no request waits for it, and none fails by it. Those that are alike are told of once a minute. */
  note(refusal: LimitRefusal): void
  /** Waits for what is under way, and tries nothing again. */
  stop(): Promise<void>
}

/** So many wait for an auth server that is away. */
const maxWaiting = 1_000

/** Reports over these ports. They are lost only where the auth server stays away for longer than a few tries. */
export function createRefusalReports(ports: RefusalReportsPorts): RefusalReports {
  const { clock, log } = ports
  const floods = createFloodFilter(clock)
  const stopping = new AbortController()
  let waiting: LimitRefusal[] = []
  let sending: Promise<void> | undefined

  const lose = (refusals: readonly LimitRefusal[]) => {
    log.warn({ refusals: refusals.length }, 'the auth server could not be told of refusals by a limit')
    for (const refusal of refusals) floods.forget(floodingOf(refusal))
  }
  const sendAll = async () => {
    while (waiting.length > 0) {
      const refusals = waiting.slice(0, maxRefusalsAtOnce)
      waiting = waiting.slice(maxRefusalsAtOnce)
      if (!(await deliver(refusals, ports, stopping.signal))) lose(refusals)
    }
  }
  return {
    note: (refusal) => {
      if (waiting.length >= maxWaiting || !floods.keeps(floodingOf(refusal))) return
      waiting.push(refusal)
      sending ??= sendAll()
        .catch((err: unknown) => log.error({ err }, 'reports of refusals by a limit failed'))
        .finally(() => {
          sending = undefined
        })
    },
    stop: async () => {
      stopping.abort()
      await sending
    },
  }
}

const floodingOf = ({ scheme, actor, address }: LimitRefusal): FloodingRefusal => ({ kind: scheme, actor, address })

/** True when the auth server has written them down; false after a few tries. */
async function deliver(
  refusals: readonly LimitRefusal[],
  { authClient, waitsMs = [1_000, 4_000] }: RefusalReportsPorts,
  stopping: AbortSignal,
): Promise<boolean> {
  const isDelivered = async () => {
    try {
      const answer = await authClient.ask({ method: 'POST', target: '/limit-refusals', body: { refusals } })
      return answer.status === 204
    } catch (error) {
      if (error instanceof Unavailable) return false
      throw error
    }
  }
  if (await isDelivered()) return true
  for (const waitMs of waitsMs) {
    await pause(waitMs, undefined, { signal: stopping, ref: false }).catch(() => undefined)
    if (stopping.aborted) return false
    if (await isDelivered()) return true
  }
  return false
}
