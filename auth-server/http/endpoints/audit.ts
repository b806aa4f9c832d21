/** GET /audit: the audit log, oldest first (docs/contract.md#audit-log). */
import * as z from 'zod'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import type { AuditPage } from '../../audit/read-entries.ts'
import { component, pageOf, time } from '../pipeline/description.ts'
import { defineEndpoint } from '../pipeline/endpoint.ts'

/** Services and settings of the endpoint. */
export interface AuditEndpointPorts {
  /** The origin that clients see. */
  readonly origin: string
  /** Reads entries behind number `after`. @throws Unavailable */
  readEntries(page: { readonly after: number; readonly limit: number }): Promise<AuditPage>
}

const entryNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'Expected the number of an entry')
  .transform(Number)
const described = { type: 'integer', minimum: 0, pattern: undefined } as const

/** The number of an entry stays valid as a cursor forever, and needs no signature. */
const parameters = pageParameters.pick({ limit: true }).extend({
  after: entryNumber.default(0).meta({ ...described, description: 'Entries behind this one.', default: 0 }),
  cursor: entryNumber
    .optional()
    .meta({ description: '`nextCursor` of the page before: the same as `after`, and goes before it.' }),
})

const entrySchema = z.object({
  seq: z.number().int().min(1).meta({ description: 'Without gaps, from 1.' }),
  at: time,
  actor: z.string().nullable().meta({ description: 'A user name; null when nobody has been authenticated.' }),
  action: z.string(),
  target: z.string().nullable().meta({ description: 'A user name or an id.' }),
  outcome: z.string().meta({ description: '`succeeded`, or the code of the refusal.' }),
  scheme: z.string().nullable(),
  address: z.string().nullable(),
  requestId: z.string().nullable(),
  count: z.number().int().min(1).meta({
    description: 'How many equal refusals the entry stands for: one a minute is written down. 1 for everything else.',
  }),
})

/** GET /audit. The number of the last entry is the cursor of the next page. */
export const auditEndpoint = ({ origin, readEntries }: AuditEndpointPorts) =>
  defineEndpoint({
    method: 'GET',
    path: '/audit',
    id: 'listAuditEntries',
    summary: 'Read the audit log, oldest first',
    description: 'Needs the right `audit.read`. Ask again behind the last entry for what has been added since.',
    tag: 'operation',
    caller: 'required',
    query: parameters,
    right: 'audit.read',
    status: 200,
    success: { description: 'Entries.', headers: ['Link'] },
    response: component('AuditPage', pageOf(entrySchema)),
    handle: async ({ query: { limit, after, cursor = after } }) => {
      const { items, next } = await readEntries({ after: cursor, limit })
      if (next === undefined) return { body: { items, nextCursor: null } }
      const link = `<${origin}/audit?after=${next}&limit=${limit}>; rel="next"`
      return { body: { items, nextCursor: String(next) }, headers: { link } }
    },
  })
