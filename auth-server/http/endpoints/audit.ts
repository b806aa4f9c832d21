/** GET /audit: the audit log, oldest first (CONTRACT sections 2 and 9). */
import { z } from 'zod'
import { jsonAnswer, noStore } from '../../../shared/http/answer.ts'
import { pageParameters, readQuery } from '../../../shared/http/query-parameters.ts'
import type { Route } from '../../../shared/http/routes.ts'
import { requireSecureTransport } from '../../../shared/http/transport.ts'
import { type Authenticate, requireRights } from '../../../shared/schemes/authenticate.ts'
import type { AuditPage } from '../../audit/read-entries.ts'
import { describeAudit } from '../openapi/audit-operations.ts'

export interface AuditEndpointPorts {
  readonly authenticate: Authenticate
  /** @throws Unavailable */
  readEntries(page: { readonly after: number; readonly limit: number }): Promise<AuditPage>
}

const after = z
  .string()
  .regex(/^\d{1,15}$/, 'Expected the number of an entry')
  .transform(Number)
  .default(0)
  .meta({ description: 'Entries behind this one.', type: 'integer', minimum: 0, default: 0, pattern: undefined })

const auditParameters = pageParameters.pick({ limit: true }).extend({ after })

export const auditRoute = ({ authenticate, readEntries }: AuditEndpointPorts): Route => ({
  methods: ['GET'],
  path: '/audit',
  describe: () => [describeAudit(auditParameters)],
  handle: async (call) => {
    requireSecureTransport(call.peer)
    const caller = await authenticate(call)
    const page = readQuery(call, auditParameters)
    requireRights(caller, ['audit.read'])
    const { items, next } = await readEntries(page)
    const link = next === undefined ? {} : { link: `</audit?after=${next}&limit=${page.limit}>; rel="next"` }
    return jsonAnswer(200, { items, nextCursor: next === undefined ? null : String(next) }, { ...noStore, ...link })
  },
})
