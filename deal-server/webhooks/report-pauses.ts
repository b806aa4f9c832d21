/**
 * Tells the auth server of every pause that was not asked for, for its audit log. A pause whose report was lost with a
 * server, or found no auth server, is reported by whoever looks next.
 */
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { WebhookSystems } from './webhook-systems.ts'

/** Reports what has not been reported for this time, in milliseconds. Never fails. */
export async function reportPauses({ work, report, log }: WebhookSystems, olderThanMs: number): Promise<void> {
  try {
    const pauses = await work.unreportedPauses(olderThanMs)
    if (pauses.length > 0 && (await report(pauses))) await work.noteReported(pauses.map(({ id }) => id))
  } catch (err) {
    if (!(err instanceof Unavailable)) log.warn({ err }, 'Pauses of webhooks could not be reported')
  }
}
