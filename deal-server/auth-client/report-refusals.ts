import { setTimeout as pause } from 'node:timers/promises'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { questionOf } from '../../shared/protocol/internal-api/exchange.ts'
import {
  type LimitRefusal,
  limitRefusalsExchange,
  maxRefusalsAtOnce,
} from '../../shared/protocol/internal-api/limit-refusals.ts'
import { type CountedRefusal, createFloodFilter } from '../../shared/server/login-throttle/flood-filter.ts'
import type { AskingSystems } from './asking-systems.ts'

/** The pauses before each retry, in milliseconds. */
const pausesMs: readonly number[] = [1_000, 4_000]

/** The largest number of waiting reports. More refusals are only counted until there is room. */
const maxWaiting = 1_000

const intervalMs = 60_000

type Counted = CountedRefusal<LimitRefusal>

/**
 * Reports requests that a limit refused here to the auth server, for its audit log. A report is lost only when the auth
 * server does not respond to any of its attempts.
 */
export function createRefusalReports(systems: AskingSystems, waitsMs = pausesMs) {
  const { clock, log } = systems
  const floods = createFloodFilter<LimitRefusal>(clock, ({ scheme }) => scheme)
  const stopping = new AbortController()
  const waiting: Counted[] = []
  let sending: Promise<void> | undefined

  const isDelivered = async (refusals: readonly LimitRefusal[]): Promise<boolean> => {
    try {
      const question = questionOf(limitRefusalsExchange, { path: {}, body: { refusals: [...refusals] } })
      return (await systems.authClient.ask(question)).status === 204
    } catch (error) {
      if (error instanceof Unavailable) return false
      throw error
    }
  }
  /** False after the last attempt. */
  const isStored = async (refusals: readonly LimitRefusal[]): Promise<boolean> => {
    if (await isDelivered(refusals)) return true
    for (const waitMs of waitsMs) {
      await pause(waitMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
      if (stopping.signal.aborted) return false
      if (await isDelivered(refusals)) return true
    }
    return false
  }
  const giveUp = (counted: readonly Counted[]): void => {
    log.warn({ refusals: counted.length }, 'Refusals by a limit could not be reported to the auth server')
    for (const one of counted) floods.putBack(one)
  }
  const sendAll = async () => {
    while (waiting.length > 0) {
      const counted = waiting.splice(0, maxRefusalsAtOnce)
      const refusals = counted.map(({ refusal, count }) => ({ ...refusal, count }))
      if (await isStored(refusals)) continue
      giveUp(stopping.signal.aborted ? [...counted, ...waiting.splice(0)] : counted)
    }
  }
  const sendWaiting = (): Promise<void> => {
    sending ??= sendAll()
      .catch((err: unknown) => log.error({ err }, 'Reports of refusals by a limit failed'))
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
    /**
     * Reports a refusal in the background: no request waits for it, and none fails because of it. Similar refusals
     * share one report a minute, with their number.
     */
    note: (refusal: LimitRefusal): void => {
      const counted = floods.take(refusal)
      if (counted) send(counted)
    },
    /** Sends the remaining reports once, without a retry. */
    stop: async (): Promise<void> => {
      clearInterval(timer)
      stopping.abort()
      waiting.push(...floods.drain('all'))
      await sending
      await sendWaiting()
    },
  }
}
