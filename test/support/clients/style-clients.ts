/** How each style sends a command. A new style is one more entry in `styleClients`. */
import { commandNamed } from '../../../deal-server/use-cases/index.ts'
import type { Sent } from './http-client.ts'
import { toolPath } from './tool-calls.ts'

type Members = Readonly<Record<string, unknown>>

/** A command to be sent, whatever the style. */
export interface Sending {
  readonly useCase: string
  readonly dealId: string
  readonly params: Members
  /** The client's own id for the command, where it has one. */
  readonly commandId?: string
  /** The deal as its client has read it: what an attribute update is made from. */
  readonly read?: Members
}

export interface StyleRequest {
  readonly path: string
  readonly sent: Sent
}

/** What a success answers: the deal, the command, header fields alone, or the result of a tool. */
export type AnswerForm = 'deal' | 'command' | 'nothing' | 'call'

export interface StyleClient {
  /** As events name it. */
  readonly style: string
  readonly title: string
  readonly form: AnswerForm
  /** True where the command id is in the path: without one, the client makes one up. */
  readonly namesCommands: boolean
  /** Where in the body the parameters stand. */
  readonly at: string
  /** Undefined for what the style does not cover. */
  request(sending: Sending): StyleRequest | undefined
}

/** Use case → segment of the action style and of the state-named style (docs/deal-model.md#use-cases). */
const segments: Readonly<Record<string, readonly [verb: string, stateName: string]>> = {
  CreateDeal: ['create', 'created'],
  DeleteDeal: ['delete', 'deleted'],
  RestoreDeal: ['restore', 'restored'],
  RenameDeal: ['rename', 'renamed'],
  ChangePrice: ['change-price', 'price-changed'],
  ChangeCompletionDate: ['change-completion-date', 'completion-date-changed'],
  HoldDeal: ['hold', 'holded'],
  UnholdDeal: ['unhold', 'unholded'],
  CompleteDeal: ['complete', 'completed'],
  CancelDeal: ['cancel', 'cancelled'],
  ReopenDeal: ['reopen', 'reopened'],
  AssignOwner: ['assign-owner', 'owner-assigned'],
  AddTask: ['add-task', 'task-added'],
  AssignTask: ['assign-task', 'task-assigned'],
  UnassignTask: ['unassign-task', 'task-unassigned'],
  CompleteTask: ['complete-task', 'task-completed'],
}

/**
 * What a client changes in the deal it has read (docs/deal-model.md#attribute-differences): the nine commands that
 * attributes can express.
 */
const attributesOf: Readonly<Record<string, (params: Members) => Members>> = {
  RenameDeal: ({ newName }) => ({ name: newName }),
  ChangePrice: ({ newPrice, reason }) => ({ price: newPrice, priceReason: reason }),
  ChangeCompletionDate: ({ newDate, penaltyAmount, whyChanged }) => ({
    completionDate: newDate,
    completionDatePenalty: penaltyAmount,
    completionDateReason: whyChanged,
  }),
  HoldDeal: ({ reason, reasonCode = null }) => ({ held: true, holdReason: reason, holdReasonCode: reasonCode }),
  UnholdDeal: () => ({ held: false, holdReason: null, holdReasonCode: null }),
  CompleteDeal: (params) => ({ status: 'completed', completion: params }),
  CancelDeal: ({ penaltyAmount, reason }) => ({
    status: 'cancelled',
    cancelPenalty: penaltyAmount,
    cancelReason: reason,
  }),
  ReopenDeal: ({ reason }) => ({ status: 'open', reopenReason: reason }),
  AssignOwner: ({ employeeId }) => ({ ownerId: employeeId }),
}

/** The commands that attributes can express. */
export const attributeUseCases: readonly string[] = Object.keys(attributesOf)

const dealPath = (dealId: string) => `/rest/v1/deals/${dealId}`

const keyed = (commandId: string | undefined): Pick<Sent, 'headers'> =>
  commandId === undefined ? {} : { headers: { 'idempotency-key': commandId } }

let commandsNamed = 0
const freshCommandId = () => {
  commandsNamed += 1
  return `conformance-${process.pid}-${Date.now()}-${commandsNamed}`
}

const client = (parts: Pick<StyleClient, 'style' | 'request'> & Partial<StyleClient>): StyleClient => ({
  title: parts.style,
  form: 'deal',
  namesCommands: false,
  at: '',
  ...parts,
})

/** A use case that came later says its segments itself. */
function segmentsOf(useCase: string): readonly [verb: string, stateName: string] {
  const { verb, stateName } = commandNamed(useCase) ?? {}
  return segments[useCase] ?? [String(verb), String(stateName)]
}

const subResource = (method: string, which: 0 | 1) => (sending: Sending) => {
  const { useCase, dealId, params, commandId } = sending
  const path = `${dealPath(dealId)}/${segmentsOf(useCase)[which]}`
  return { path, sent: { method, json: params, ...keyed(commandId) } }
}

/** A new deal is posted to the collection, a deal is deleted. */
function resourceRequest({ useCase, dealId, params, commandId }: Sending): StyleRequest | undefined {
  const headers = keyed(commandId)
  if (useCase === 'CreateDeal') {
    return { path: '/rest/v1/deals/', sent: { method: 'POST', json: { id: dealId, ...params }, ...headers } }
  }
  return useCase === 'DeleteDeal' ? { path: dealPath(dealId), sent: { method: 'DELETE', ...headers } } : undefined
}

/** States undone by DELETE, tasks posted to their collection. */
function naturalRequest({ useCase, dealId, params, commandId }: Sending): StyleRequest | undefined {
  const [path, headers] = [dealPath(dealId), keyed(commandId)]
  if (useCase === 'RestoreDeal') return { path: `${path}/deleted`, sent: { method: 'DELETE', ...headers } }
  if (useCase === 'UnholdDeal') return { path: `${path}/holded`, sent: { method: 'DELETE', ...headers } }
  if (useCase === 'AddTask') return { path: `${path}/tasks`, sent: { method: 'POST', json: params, ...headers } }
  return undefined
}

function wholeDealRequest({ useCase, dealId, params, commandId, read }: Sending): StyleRequest | undefined {
  const changes = attributesOf[useCase]?.(params)
  if (!changes) return undefined
  return { path: dealPath(dealId), sent: { method: 'PUT', json: { ...read, ...changes }, ...keyed(commandId) } }
}

function mergePatchRequest({ useCase, dealId, params, commandId }: Sending): StyleRequest | undefined {
  const changes = attributesOf[useCase]?.(params)
  if (!changes) return undefined
  const headers = { 'content-type': 'application/merge-patch+json', ...keyed(commandId).headers }
  return { path: dealPath(dealId), sent: { method: 'PATCH', json: changes, headers } }
}

export const styleClients: readonly StyleClient[] = [
  client({ style: 'resource', request: resourceRequest }),
  client({ style: 'state-named-sub-resource', title: 'natural form', request: naturalRequest }),
  client({ style: 'action-sub-resource', title: 'action by PUT', request: subResource('PUT', 0) }),
  client({ style: 'action-sub-resource', title: 'action by POST', request: subResource('POST', 0) }),
  client({ style: 'state-named-sub-resource', request: subResource('PUT', 1) }),
  client({
    style: 'single-update',
    at: '/params',
    request: ({ useCase: action, dealId, params, commandId }) => ({
      path: dealPath(dealId),
      sent: { method: 'PUT', json: { action, params }, ...keyed(commandId) },
    }),
  }),
  client({ style: 'attribute-update', title: 'attribute update by PUT', request: wholeDealRequest }),
  client({ style: 'attribute-update', title: 'attribute update by PATCH', request: mergePatchRequest }),
  client({
    style: 'global-command-collection',
    form: 'command',
    namesCommands: true,
    at: '/params',
    request: ({ useCase: action, dealId: deal, params, commandId = freshCommandId() }) => ({
      path: `/commands/${commandId}`,
      sent: { method: 'PUT', json: { deal, action, params } },
    }),
  }),
  client({
    style: 'per-deal-command-collection',
    form: 'command',
    namesCommands: true,
    at: '/params',
    request: ({ useCase: action, dealId, params, commandId = freshCommandId() }) => ({
      path: `${dealPath(dealId)}/commands/${commandId}`,
      sent: { method: 'PUT', json: { action, params } },
    }),
  }),
  client({
    style: 'command-controller',
    form: 'nothing',
    request: ({ useCase, dealId: id, params, commandId }) => ({
      path: `/command/${useCase}/`,
      sent: { method: 'POST', json: { id, ...params }, ...keyed(commandId) },
    }),
  }),
  client({
    style: 'mcp',
    form: 'call',
    request: ({ useCase, dealId: id, params, commandId }) => ({
      path: toolPath,
      sent: { json: { name: toolOf(useCase), arguments: { id, ...params } }, ...keyed(commandId) },
    }),
  }),
]

/** The tool of a use case: its name in snake case. */
const toolOf = (useCase: string): string => useCase.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase()

/** Whether a style has a form of the command. */
export const covers = (style: StyleClient, useCase: string): boolean =>
  style.request({ useCase, params: {}, dealId: '', commandId: 'x', read: {} }) !== undefined
