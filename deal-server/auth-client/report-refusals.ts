import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { questionOf } from '../../shared/protocol/internal-api/exchange.ts'
import { limitRefusalsExchange, maxRefusalsAtOnce } from '../../shared/protocol/internal-api/limit-refusals.ts'
import { type CountedRefusal, createFloodFilter } from '../../shared/protocol/login-throttle/flood-filter.ts'
import type { LimitRefusal } from '../../shared/protocol/login-throttle/limit-refusals.ts'
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
  /**
   * In the background: no request waits for it, and none fails by it. Those that are alike are told of once a minute, with their number.
   */
  note(refusal: LimitRefusal): void
  /** Tells of what is left, once, and tries nothing again. */
  stop(): Promise<void>
}

/** So many wait for an auth server that is away; others are counted until there is room. */
const maxWaiting = 1_000

const intervalMs = 60_000

type Counted = CountedRefusal<LimitRefusal>

/** Reports over these ports. They are lost only where the auth server stays away for longer than a few tries. */
export function createRefusalReports(ports: RefusalReportsPorts): RefusalReports {
  const { clock, log } = ports
  const floods = createFloodFilter<LimitRefusal>(clock, ({ scheme }) => scheme)
  const stopping = new AbortController()
  const waiting: Counted[] = []
  let sending: Promise<void> | undefined

  const lose = (counted: readonly Counted[]): void => {
    log.warn({ refusals: counted.length }, 'the auth server could not be told of refusals by a limit')
    for (const one of counted) floods.putBack(one)
  }
  const sendAll = async () => {
    while (waiting.length > 0) {
      const counted = waiting.splice(0, maxRefusalsAtOnce)
      const refusals = counted.map(({ refusal, count }) => ({ ...refusal, count }))
      if (await deliver(refusals, ports, stopping.signal)) continue
      lose(stopping.signal.aborted ? [...counted, ...waiting.splice(0)] : counted)
    }
  }
  const sendWaiting = (): Promise<void> => {
    sending ??= sendAll()
      .catch((err: unknown) => log.error({ err }, 'reports of refusals by a limit failed'))
      .finally(() => {
        sending = undefined
      })
    return sending
  }
  const send = (counted: Counted): void => {
    if (waiting.length >= maxWaiting) {
      floods.putBack(counted)
    } else {
      waiting.push(counted)
      void sendWaiting()
    }
  }
  const sendLeftOut = () => {
    for (const counted of floods.drain('over')) send(counted)
  }
  const timer = setInterval(sendLeftOut, intervalMs).unref()
  return {
    note: (refusal) => {
      const counted = floods.take(refusal)
      if (counted) send(counted)
    },
    stop: async () => {
      clearInterval(timer)
      stopping.abort()
      waiting.push(...floods.drain('all'))
      await sending
      await sendWaiting()
    },
  }
}

/** True when the auth server has written them down; false after a few tries. */
async function deliver(
  refusals: readonly LimitRefusal[],
  { authClient, waitsMs = [1_000, 4_000] }: RefusalReportsPorts,
  stopping: AbortSignal,
): Promise<boolean> {
  const isDelivered = async () => {
    try {
      const question = questionOf(limitRefusalsExchange, { path: {}, body: { refusals: [...refusals] } })
      const answer = await authClient.ask(question)
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
