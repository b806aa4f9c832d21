/**
 * Reports what users do with webhooks to the auth server, for its audit log. No request waits for a report: a new
 * webhook gets events at once, and its secret must not come later. While the auth server is away, reports wait in
 * memory.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { questionOf } from '../../shared/protocol/internal-api/exchange.ts'
import { type ReportedChange, webhookChangesExchange } from '../../shared/protocol/internal-api/webhook-changes.ts'
import type { AskingSystems } from './asking-systems.ts'

/** The pause between attempts, in milliseconds. */
const pauseMs = 5_000

/** At most this number are told of in one request, which has at most 256 KiB: a change may name 200 deals. */
const reportedAtOnce = 10

/** More than these are not kept: an administrator makes a few in a day. */
const maxWaiting = 1_000

/** Makes the reports. One that was stored, but whose answer was lost, is stored again, with the same request id. */
export function createChangeReports({ authClient, log }: AskingSystems, waitMs = pauseMs) {
  const waiting: ReportedChange[] = []
  const stopping = new AbortController()
  let sending: Promise<void> | undefined

  const areStored = async (changes: readonly ReportedChange[]): Promise<boolean> => {
    try {
      const question = questionOf(webhookChangesExchange, { path: {}, body: { changes: [...changes] } })
      return (await authClient.ask(question)).status === 204
    } catch (error) {
      if (error instanceof Unavailable) return false
      throw error
    }
  }
  const sendWaiting = async (): Promise<void> => {
    while (waiting.length > 0) {
      const changes = waiting.slice(0, reportedAtOnce)
      if (!(await areStored(changes))) return
      waiting.splice(0, changes.length)
    }
  }
  const sendAll = async (): Promise<void> => {
    await sendWaiting()
    if (waiting.length > 0) log.warn({ changes: waiting.length }, 'Changes of webhooks wait for the audit log')
    while (waiting.length > 0 && !stopping.signal.aborted) {
      await pause(waitMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
      if (!stopping.signal.aborted) await sendWaiting()
    }
  }
  const lose = ({ action, target, actor, requestId }: ReportedChange): void =>
    log.error({ action, target, actor, requestId }, 'A change of a webhook is not in the audit log')
  const keep = (change: ReportedChange): void => {
    if (waiting.length >= maxWaiting) {
      lose(change)
      return
    }
    waiting.push(change)
    sending ??= sendAll()
      .catch((err: unknown) => log.error({ err }, 'Reports of changes of webhooks failed'))
      .finally(() => {
        sending = undefined
      })
  }
  return {
    /** Reports a change in the background. */
    note: keep,
    /** Makes a last attempt. Logs what is lost. */
    stop: async (): Promise<void> => {
      stopping.abort()
      await sending
      await sendWaiting()
      waiting.forEach(lose)
    },
  }
}
