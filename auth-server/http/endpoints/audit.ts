/** GET /audit: the audit log, oldest first (CONTRACT sections 2 and 9). */
import { z } from 'zod'
import { jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import { pageParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { type Authenticate, requireRights } from '../../../shared/protocol/authentication/authenticate.ts'
import type { AuditPage } from '../../audit/read-entries.ts'
import { describeAudit } from '../openapi/audit-operations.ts'

export interface AuditEndpointPorts {
  readonly authenticate: Authenticate
  /** The origin that clients see. */
  readonly origin: string
  /** @throws Unavailable */
  readEntries(page: { readonly after: number; readonly limit: number }): Promise<AuditPage>
}

const entryNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'Expected the number of an entry')
  .transform(Number)
const described = { type: 'integer', minimum: 0, pattern: undefined } as const

/** The number of an entry is a cursor for good: nobody needs to sign it. */
const auditParameters = pageParameters.pick({ limit: true }).extend({
  after: entryNumber.default(0).meta({ ...described, description: 'Entries behind this one.', default: 0 }),
  cursor: entryNumber
    .optional()
    .meta({ description: '`nextCursor` of the page before: the same as `after`, and goes before it.' }),
})

export const auditRoute = ({ authenticate, origin, readEntries }: AuditEndpointPorts): Route => ({
  methods: ['GET'],
  path: '/audit',
  describe: () => [describeAudit(auditParameters)],
  handle: async (call) => {
    await call.readBody()
    requireSecureTransport(call.peer)
    const caller = await authenticate(call)
    const { limit, after, cursor = after } = readQuery(call, auditParameters)
    requireRights(caller, ['audit.read'])
    const { items, next } = await readEntries({ after: cursor, limit })
    const link = next === undefined ? {} : { link: `<${origin}/audit?after=${next}&limit=${limit}>; rel="next"` }
    return jsonAnswer(200, { items, nextCursor: next === undefined ? null : String(next) }, { ...noStore, ...link })
  },
})
