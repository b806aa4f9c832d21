/** GET /audit: the audit log in pages, by filters (docs/contract/operators.md#audit-log). */
import * as z from 'zod'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import { timeParameter } from '../../../shared/platform/http/content/time-parameter.ts'
import { pageOf } from '../../../shared/platform/http/pagination/page-schema.ts'
import { entryChangeSchema } from '../../../shared/protocol/entry-changes.ts'
import { component, defineEndpoint, time } from '../../../shared/server/endpoints/endpoint.ts'
import type { AuditPageRequest } from '../../audit/read-entries.ts'
import type { AuthServices } from '../services/auth-services.ts'

const name = z.string().regex(/^[A-Za-z0-9._@-]{1,64}$/, 'Expected a user name or an id')

/** The members of a filter, as texts. */
const auditFilterShape = {
  actor: name.optional().meta({ description: 'A user name. The case of letters does not matter.' }),
  action: z
    .string()
    .regex(/^[a-z][a-z.-]{0,62}\*?$/, 'Expected an action, or its beginning followed by *')
    .optional()
    .meta({ description: 'An action such as `user.changed`, or the beginning of actions, such as `key.*`.' }),
  target: name.optional().meta({ description: 'A user name or an id. The case of letters does not matter.' }),
  outcome: z
    .string()
    .regex(/^[a-z][a-z_-]{0,63}$/, 'Expected succeeded or a code')
    .optional()
    .meta({ description: '`succeeded`, or the code of a refusal.' }),
  from: timeParameter('Entries of this time or later.'),
  to: timeParameter('Entries before this time.'),
}

/** True when the span of a filter, in the form of `timeParameter`, can hold a time. */
const isSpan = ({ from, to }: { readonly from?: string | undefined; readonly to?: string | undefined }) =>
  from === undefined || to === undefined || from < to

const entryNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'Expected the number of an entry')
  .transform(Number)
const described = { type: 'integer', minimum: 0, pattern: undefined } as const

/** The number of an entry stays valid as a cursor forever, in both orders and for every filter, without a signature. */
const parameters = pageParameters
  .pick({ limit: true })
  .extend({
    ...auditFilterShape,
    order: z.enum(['asc', 'desc']).default('asc').meta({ description: 'Oldest or newest first.', default: 'asc' }),
    after: entryNumber.optional().meta({
      ...described,
      description: 'Entries behind this one, in the order that is asked for: with `desc`, those with smaller numbers.',
    }),
    cursor: entryNumber
      .optional()
      .meta({ description: '`nextCursor` of the page before: the same as `after`, and goes before it.' }),
  })
  .refine(isSpan, { path: ['to'], error: 'Expected a time after `from`' })

const entrySchema = z.object({
  seq: z.number().int().min(1).meta({ description: 'Without gaps, from 1.' }),
  at: time,
  actor: z.string().nullable().meta({
    description:
      'A user name; null when nobody has been authenticated. With the scheme `ops`, the name of an operator.',
  }),
  action: z.string(),
  target: z.string().nullable().meta({ description: 'A user name or an id.' }),
  outcome: z.string().meta({ description: '`succeeded`, or the code of the refusal.' }),
  scheme: z.string().nullable(),
  address: z.string().nullable(),
  requestId: z.string().nullable(),
  count: z.number().int().min(1).meta({
    description: 'How many equal refusals the entry stands for: one a minute is written down. 1 for everything else.',
  }),
  reason: z.string().nullable().meta({ description: 'What an operator gave as the reason.' }),
  client: z.string().nullable().meta({
    description: 'The name of the application whose access token the actor used, or null.',
  }),
  changes: z.array(entryChangeSchema).optional().meta({
    description:
      'What the change gave and took, by member: `roles`, `rights`, `enabled` and others. Absent where there is nothing to tell.',
  }),
})

/** GET /audit. The number of the last entry is the cursor of the next page. */
export const auditEndpoint = ({ origin, readEntries }: AuthServices) =>
  defineEndpoint({
    method: 'GET',
    path: '/audit',
    id: 'listAuditEntries',
    summary: 'Read the audit log',
    description:
      'Needs the right `audit.read`. All filters together must hold. Oldest first: ask again behind the last entry for ' +
      'what has been added since.',
    tag: 'operation',
    query: parameters,
    right: 'audit.read',
    success: { description: 'Entries.', headers: ['Link'] },
    response: component('AuditPage', pageOf(entrySchema)),
    handle: async ({ query: { limit, after, cursor = after, order, ...filter } }) => {
      const { items, next } = await readEntries({ after: cursor, limit, order, filter })
      if (next === undefined) return { body: { items, nextCursor: null } }
      const link = `<${origin}/audit?${linkQuery({ ...filter, order, limit, after: next })}>; rel="next"`
      return { body: { items, nextCursor: String(next) }, headers: { link } }
    },
  })

type LinkMembers = Omit<AuditPageRequest, 'filter'> & NonNullable<AuditPageRequest['filter']>

/** The query of the next page. What is left out or the default is left out. */
function linkQuery({ after, limit, order, ...filter }: LinkMembers): URLSearchParams {
  const members = {
    ...filter,
    order: order === 'asc' ? undefined : order,
    after,
    limit,
  }
  const given = Object.entries(members).filter(([, value]) => value !== undefined)
  return new URLSearchParams(given.map(([member, value]): [string, string] => [member, String(value)]))
}
