import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { Audit, AuditEvent } from '../../audit/audit.ts'
import type { LoginRequest } from '../../logins/login.ts'

/** What an audited piece of work says of itself. */
export interface AuditedWork {
  readonly request: HttpRequest
  /** Undefined where nobody is authenticated before, as at a login. */
  readonly caller?: Caller | undefined
  /** Who acts, where the work itself authenticates: the user name as presented. */
  readonly actor?: string | undefined
  readonly action: string
  readonly target?: string | undefined
}

/**
 * Runs `work`, then writes an entry with its outcome, before anybody is answered. A refusal is an entry too; a
 * dependency that was away is not: nothing was decided. @throws whatever `work` throws; Unavailable when the entry
 * cannot be stored
 */
export async function audited<Result>(audit: Audit, about: AuditedWork, work: () => Promise<Result>): Promise<Result> {
  try {
    const result = await work()
    await audit.record(eventOf(about, 'succeeded'))
    return result
  } catch (error) {
    if (error instanceof ProblemError) await audit.recordRefusal(eventOf(about, error.code))
    throw error
  }
}

/** Writes down which logins ended to make room for a new one. @throws Unavailable */
export const auditDisplaced =
  (audit: Audit, request: HttpRequest): NonNullable<LoginRequest['onDisplaced']> =>
  async (displaced, actor) => {
    const ended =
      displaced === 'all'
        ? [{ action: 'user.logged-out', target: actor }]
        : displaced.map((target) => ({ action: 'login.ended', target }))
    await Promise.all(ended.map((event) => audit.record(eventOf({ request, actor, ...event }, 'displaced'))))
  }

/** What is written of a piece of work that came to this. */
export const eventOf = ({ request, caller, actor, action, target }: AuditedWork, outcome: string): AuditEvent => ({
  actor: caller?.username ?? actor ?? null,
  action,
  target: target ?? null,
  outcome,
  scheme: caller?.scheme ?? null,
  address: request.peer.address,
  requestId: request.requestId,
})
