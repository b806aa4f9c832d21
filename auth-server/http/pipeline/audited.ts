import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { Audit, AuditEvent } from '../../audit/audit.ts'
import type { LoginRequest } from '../../logins/login.ts'

/** Describes a piece of work for the audit log. */
export interface AuditedWork {
  readonly request: HttpRequest
  /** Undefined where no caller is authenticated before the work, as at a login. */
  readonly caller?: Caller | undefined
  /** The user name as sent, where the work itself authenticates. */
  readonly actor?: string | undefined
  readonly action: string
  readonly target?: string | undefined
}

/**
 * Runs `work` and writes an audit entry with its outcome before the response goes out. A refusal is an entry too. An
 * unavailable dependency is none, because the server decided nothing. While entries cannot be stored, `work` does not
 * begin: nothing is hashed or decided in vain.
 *
 * @throws the error of `work`; Unavailable when the entry cannot be stored
 */
export async function audited<Result>(audit: Audit, about: AuditedWork, work: () => Promise<Result>): Promise<Result> {
  audit.check()
  try {
    const result = await work()
    await audit.record(eventOf(about, 'succeeded'))
    return result
  } catch (error) {
    if (error instanceof ProblemError) await audit.recordRefusal(eventOf(about, error.code))
    throw error
  }
}

/** Writes an entry for each login that was revoked to make room for a new one. @throws Unavailable */
export const auditDisplaced =
  (audit: Audit, request: HttpRequest): NonNullable<LoginRequest['onDisplaced']> =>
  async (displaced, actor) => {
    const ended =
      displaced === 'all'
        ? [{ action: 'user.logged-out', target: actor }]
        : displaced.map((target) => ({ action: 'login.ended', target }))
    await Promise.all(ended.map((event) => audit.record(eventOf({ request, actor, ...event }, 'displaced'))))
  }

/** Makes the audit event of a piece of work with this outcome. */
export const eventOf = ({ request, caller, actor, action, target }: AuditedWork, outcome: string): AuditEvent => ({
  actor: caller?.username ?? actor ?? null,
  action,
  target: target ?? null,
  outcome,
  scheme: caller?.scheme ?? null,
  address: request.peer.address,
  requestId: request.requestId,
})
