/** The schemas of this server's responses. A test compares them with real responses. */
import * as z from 'zod'
import { dealFields, type FieldKind, type ShownField, shownFields } from '../../domain/deal-fields.ts'

const uuid = z.string().meta({ format: 'uuid' })
const time = z.string().meta({ format: 'date-time', description: 'RFC 3339.' })
const date = z.string().meta({ format: 'date' })
const amount = z.number().min(0).meta({ description: 'An amount in major units.' })
const text = z.string().nullable()
const user = z.string().meta({ description: 'A user name.' })
const reference = z.string().meta({ format: 'uri-reference' })

/** A task of a deal. */
export const taskSchema = z.object({
  id: uuid,
  title: z.string(),
  dueDate: date.nullable(),
  assigneeId: user.nullable(),
  status: z.enum(['open', 'done', 'dropped']),
  result: text,
  createdAt: time,
  assignedAt: time.nullable(),
  doneAt: time.nullable(),
})

const completion = z.object({
  completedOn: date,
  finalPrice: amount,
  documentNumber: text,
  comment: text,
})

const ofKind = {
  id: uuid,
  text: z.string(),
  user,
  userId: z.string(),
  date,
  time,
  amount,
  currency: z.string().meta({ description: 'ISO 4217.' }),
  status: z.enum(['open', 'completed', 'cancelled']),
  flag: z.boolean(),
  count: z.number().int().min(1),
  completion,
} as const satisfies Readonly<Record<FieldKind, z.ZodType>>

type SchemaOf<Field extends { readonly kind: FieldKind }> = Field extends { readonly nullable: true }
  ? z.ZodNullable<(typeof ofKind)[Field['kind']]>
  : (typeof ofKind)[Field['kind']]

type FieldSchemas = { [Name in ShownField]: SchemaOf<(typeof dealFields)[Name]> }

const fieldSchemas = Object.fromEntries(
  shownFields.map((name) => {
    const field: { readonly kind: FieldKind; readonly nullable?: true } = dealFields[name]
    return [name, field.nullable ? ofKind[field.kind].nullable() : ofKind[field.kind]]
  }),
) as FieldSchemas

const { id, name, price, currency, ...others } = fieldSchemas

/** A deal in a list. */
export const listedDealSchema = z.object({
  id,
  name,
  price,
  currency,
  priceText: z.string().meta({ description: 'The price with all decimals of its currency.' }),
  ...others,
  links: z.object({ self: reference }),
})

const blocked = z.object({ useCase: z.string(), code: z.string(), missingRight: z.string().optional() })

/** A deal. */
export const dealSchema = listedDealSchema.extend({
  tasks: z.array(taskSchema),
  allowed: z.array(z.string()).optional().meta({ description: 'With `?expand=allowed`: the use cases possible now.' }),
  withoutEffect: z.array(z.string()).optional().meta({
    description: 'With `?expand=allowed`: the use cases of `allowed` that would change nothing now.',
  }),
  blocked: z.array(blocked).optional().meta({ description: 'With `?expand=allowed`: all others, and why.' }),
})

/** The hold of a deal. */
export const holdSchema = z.object({ reason: z.string(), reasonCode: z.string().optional(), since: time, by: user })

/** Numbers and values of deals in groups. */
export const dealSummarySchema = z.object({
  items: z.array(
    z.object({
      status: z.enum(['open', 'completed', 'cancelled']).optional(),
      held: z.boolean().optional(),
      ownerId: user.optional(),
      currency: z.string().meta({ description: 'ISO 4217.' }),
      count: z.number().int().min(1),
      value: amount.meta({ description: 'The sum of the prices in major units; a double keeps 15 digits of it.' }),
      valueText: z.string().meta({ description: 'The same sum with all digits.' }),
    }),
  ),
  totalCount: z.number().int().min(0).meta({ description: 'All deals that match.' }),
  otherCount: z.number().int().min(0).meta({ description: 'Deals in groups that are left out.' }),
})

/** An event in the history or in the stream. */
export const eventSchema = z
  .object({
    specversion: z.literal('1.0'),
    id: uuid,
    source: reference,
    type: z.string(),
    subject: uuid.meta({ format: 'uuid', description: 'The deal.' }),
    time,
    datacontenttype: z.literal('application/json'),
    schemaversion: z.number().int(),
    sequence: z.number().int().min(1).meta({ description: 'Per deal, without gaps.' }),
    dealVersion: z.number().int().min(1),
    position: z.string(),
    commandid: text,
    correlationid: z.string(),
    actor: user,
    actorUserId: text.meta({ description: 'The immutable id of that user; null in old events.' }),
    client: z
      .object({ id: z.string(), name: z.string() })
      .optional()
      .meta({ description: 'The application by which the user acted; absent for credentials of the user.' }),
    useCase: z.string(),
    style: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ description: 'A CloudEvent (1.0) with members of our own.' })

/** A task in the list of its assignee. */
export const assignedTaskSchema = z.object({
  taskId: uuid,
  title: z.string(),
  dueDate: date.nullable(),
  dealId: uuid,
  dealName: z.string(),
  dealHeld: z.boolean(),
  assignedAt: time,
})

const request = {
  id: z.string(),
  deal: uuid,
  action: z.string(),
  params: z.record(z.string(), z.unknown()),
  requestedBy: user,
  requestedAt: time,
  finishedAt: time,
  links: z.object({ self: reference, inDeal: reference, deal: reference }),
}

/** The resource of a command that succeeded. */
export const succeededCommandSchema = z.object({
  ...request,
  state: z.literal('succeeded'),
  status: z.literal(200),
  result: z.object({
    version: z.number().int().min(1),
    etag: z.string(),
    changed: z.boolean(),
    events: z
      .array(z.object({ id: uuid, type: z.string(), sequence: z.number().int() }))
      .optional()
      .meta({ description: 'Left out for a caller without the right to read deals.' }),
    deal: reference,
  }),
})

/** The resource of a refused command. Its problem is a problem document. */
export const refusedCommandSchema = z.object({
  ...request,
  state: z.literal('refused'),
  status: z.number().int(),
  problem: z.record(z.string(), z.unknown()),
})

/** The resource of a command whose outcome is no longer kept. */
export const expiredCommandSchema = z.object({ ...request, state: z.literal('expired') })
