import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { originOf } from '../../../shared/protocol/authentication/application.ts'
import type { ChangeEntry } from '../../../shared/protocol/entry-changes.ts'
import type { AuditEvent } from '../../audit/audit.ts'
import { eventOf } from '../../audit/change-entries.ts'

/** The audit event of a request without an authenticated caller. */
export const eventAt = (request: HttpRequest, entry: ChangeEntry): AuditEvent => eventOf(originOf(request), entry)
