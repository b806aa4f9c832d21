/** The component schemas and response header fields of the OpenAPI document. */
import type { JsonSchema } from '../../../shared/platform/http/operation.ts'
import { header } from '../../../shared/platform/openapi/header-components.ts'
import { componentSchemas, ref } from '../../../shared/platform/openapi/json-schema.ts'
import { type HeadersByStatus, problemSchema } from '../../../shared/platform/openapi/problem-responses.ts'
import type { ProblemTable } from '../../../shared/platform/problems/problem-document.ts'
import { commandSchemas } from './command-schemas.ts'
import { approvedProposalSchema, proposalSchema, proposedSchema } from './proposal-schemas.ts'
import * as responses from './response-schemas.ts'
import { webhookSchemas } from './webhook-schemas.ts'

const text = { type: 'string' } as const
const texts = { type: 'array', items: text } as const

/** Members that some problems have (docs/deal-model.md#refusals). */
const problemMembers: Readonly<Record<string, JsonSchema>> = {
  dealId: text,
  commandId: text,
  useCase: text,
  currentStatus: { enum: ['open', 'completed', 'cancelled'] },
  held: { type: 'boolean' },
  allowed: { ...texts, description: 'The use cases that the state of the deal allows now.' },
  openTasks: { type: 'integer' },
  proposalId: text,
  state: { ...text, description: 'Of a proposal that is closed.' },
  reason: { ...text, description: 'Why a proposal was rejected.' },
  final: { type: 'boolean', description: 'True: the stored answer of the command. A new attempt needs a new id.' },
  current: { ...ref('Deal'), description: 'On 412, with the right `deal.read`: the deal as it is now.' },
  versions: { ...texts, description: 'The versions of the interface that are served.' },
  deletedAt: { type: ['string', 'null'], format: 'date-time' },
  purgeAt: { type: ['string', 'null'], format: 'date-time' },
}

const page = (item: string): JsonSchema => ({
  type: 'object',
  required: ['items', 'nextCursor'],
  properties: { items: { type: 'array', items: ref(item) }, nextCursor: { type: ['string', 'null'] } },
})

/** With `Prefer: count=…` a page of deals says how many match in all. */
const dealPage: JsonSchema = {
  ...page('ListedDeal'),
  properties: {
    ...(page('ListedDeal').properties as JsonSchema),
    totalCount: { type: 'integer', minimum: 0, description: 'With `Prefer: count=…`: how many deals match now.' },
    totalCountExact: { type: 'boolean', description: 'With `Prefer: count=…`: false for an estimate.' },
  },
}

/** The outcome of one command of a batch. */
const commandOutcome: JsonSchema = {
  description: 'The outcome of one command of a batch: a success, or a refusal with `problem`.',
  type: 'object',
  required: ['line', 'status'],
  properties: {
    line: { type: 'integer', minimum: 1, description: 'The number of the command in the batch.' },
    id: { ...text, description: 'The id of the command; left out when it has none that can be read.' },
    status: { type: 'integer', description: 'What the command alone would be answered with.' },
    replayed: { type: 'boolean', description: 'True: the command ran before; this is its stored outcome.' },
    proposal: {
      type: 'object',
      description: 'Of a command that waits for approval: its proposal.',
      properties: { id: text, state: text, expiresAt: text },
    },
    command: { ...ref('SucceededCommand'), description: 'Of a success, without `return=minimal`.' },
    deal: { ...text, description: 'With `return=minimal`: the id of the deal.' },
    etag: { ...text, description: 'With `return=minimal`: the entity tag of the deal.' },
    changed: { type: 'boolean', description: 'With `return=minimal`: false when nothing had to change.' },
    problem: { ...ref('Problem'), description: 'Of a refusal.' },
    retryAfter: { type: 'integer', description: 'Of a refusal: seconds after which a new attempt makes sense.' },
  },
}

/** All component schemas. */
export function dealComponents(problems: ProblemTable): Readonly<Record<string, JsonSchema>> {
  const { RefusedCommand, ...generated } = componentSchemas({
    Task: responses.taskSchema,
    Deal: responses.dealSchema,
    ListedDeal: responses.listedDealSchema,
    Hold: responses.holdSchema,
    Event: responses.eventSchema,
    AssignedTask: responses.assignedTaskSchema,
    DealSummary: responses.dealSummarySchema,
    SucceededCommand: responses.succeededCommandSchema,
    RefusedCommand: responses.refusedCommandSchema,
    ExpiredCommand: responses.expiredCommandSchema,
    ProposedCommand: proposedSchema,
    Proposal: proposalSchema,
    ApprovedProposal: approvedProposalSchema,
  })
  return {
    ...generated,
    RefusedCommand: {
      ...RefusedCommand,
      properties: { ...(RefusedCommand?.properties as JsonSchema), problem: ref('Problem') },
    },
    CommandResource: {
      description: 'A command: the request, its sender, and its outcome.',
      oneOf: ['SucceededCommand', 'RefusedCommand', 'ExpiredCommand'].map(ref),
    },
    CommandOutcome: commandOutcome,
    DealPage: dealPage,
    CommandPage: page('CommandResource'),
    EventPage: page('Event'),
    ProposalPage: page('Proposal'),
    ...commandSchemas(),
    ...webhookSchemas(),
    WebhookPage: page('Webhook'),
    WebhookAttemptPage: page('WebhookAttempt'),
    Problem: problemSchema(problems, problemMembers),
  }
}

/** Header fields of responses, by their names. */
export const responseHeaders: Readonly<Record<string, JsonSchema>> = {
  'Deal-Changed': header('`false`: the deal was in the target state already.', { enum: ['true', 'false'] }),
  'Deal-Use-Cases': header('The use cases that the update ran, in order.'),
  'Deal-Validated-Only': header('Nothing was written.', { enum: ['true'] }),
  'Idempotent-Replayed': header('The command ran before; this is its stored outcome.', { enum: ['true'] }),
  'Preference-Applied': header('The preference that was honoured (RFC 7240).', {
    enum: ['return=minimal', 'count=exact', 'count=estimated'],
  }),
}

/** The header fields of problem responses, by status. */
export const problemHeaders: HeadersByStatus = {
  ...Object.fromEntries([400, 401, 403, 404, 410, 415, 428, 503].map((status) => [status, ['Deal-Validated-Only']])),
  409: ['Deal-Validated-Only', 'Idempotent-Replayed', 'Retry-After'],
  412: ['Deal-Validated-Only', 'ETag'],
  422: ['Deal-Validated-Only', 'Idempotent-Replayed'],
}
