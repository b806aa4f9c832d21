import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { AuditEvent, ChangeEntry, Origin } from '../../audit/audit.ts'
import { eventOf } from '../../audit/change-entries.ts'

/** Who asks, and from where, for the audit log. Without a caller, the work itself authenticates. */
export const originOf = (request: HttpRequest, caller?: Caller): Origin => ({
  actor: caller?.username ?? null,
  scheme: caller?.scheme ?? null,
  address: request.peer.address,
  requestId: request.requestId,
})

/** The audit event of a request without an authenticated caller. */
export const eventAt = (request: HttpRequest, entry: ChangeEntry): AuditEvent => eventOf(originOf(request), entry)
