/**
 * Tells the auth server of every pause that was not asked for, for its audit log. A pause whose report was lost with a
 * server, or found no auth server, is reported by whoever looks next.
 */
import type { Log } from '../../shared/platform/log/log.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { UnreportedPause, WebhookWork } from './ports.ts'

/** The parts that reports use. */
export interface PauseReportPorts {
  readonly work: Pick<WebhookWork, 'unreportedPauses' | 'noteReported'>
  /** True when the auth server has stored the report. @throws Unavailable */
  readonly report: (pauses: readonly UnreportedPause[]) => Promise<boolean>
  readonly logger: Pick<Log, 'warn'>
}

/** Reports what has not been reported for this time, in milliseconds. Never fails. */
export function createPauseReports({ work, report, logger }: PauseReportPorts): (olderThanMs: number) => Promise<void> {
  return async function reportPauses(olderThanMs) {
    try {
      const pauses = await work.unreportedPauses(olderThanMs)
      if (pauses.length > 0 && (await report(pauses))) await work.noteReported(pauses.map(({ id }) => id))
    } catch (err) {
      if (!(err instanceof Unavailable)) logger.warn({ err }, 'Pauses of webhooks could not be reported')
    }
  }
}
