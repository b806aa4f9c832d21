/** What each route of the deal server needs and shows, for a caller with one right: the table that the suite walks. */
import { commandNamed } from '../../../deal-server/use-cases/index.ts'
import { transitionTable } from './transition-table.ts'

/**
 * How a use case is called: its segments in styles 1 and 2, its right, and parameters that a deal of the suite takes.
 */
interface CommandRow {
  readonly verb: string
  readonly stateName: string
  readonly right: string
  readonly params: Readonly<Record<string, unknown>>
  /** The same as attributes, where they can say it. */
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** The task of every deal of the suite. */
export const plantedTask = '44444444-4444-4444-8444-444444444444'

const reason = 'why not'

const firstRows: Readonly<Record<string, CommandRow>> = {
  CreateDeal: {
    verb: 'create',
    stateName: 'created',
    right: 'deal.create',
    params: { name: 'mine', price: 1 },
  },
  DeleteDeal: { verb: 'delete', stateName: 'deleted', right: 'deal.delete', params: {} },
  RestoreDeal: { verb: 'restore', stateName: 'restored', right: 'deal.restore', params: {} },
  RenameDeal: {
    verb: 'rename',
    stateName: 'renamed',
    right: 'deal.rename',
    params: { newName: 'mine' },
    attributes: { name: 'mine' },
  },
  ChangePrice: {
    verb: 'change-price',
    stateName: 'price-changed',
    right: 'deal.change-price',
    params: { newPrice: 2, reason },
    attributes: { price: 2, priceReason: reason },
  },
  ChangeCompletionDate: {
    verb: 'change-completion-date',
    stateName: 'completion-date-changed',
    right: 'deal.change-completion-date',
    params: { newDate: '2031-01-01', penaltyAmount: 3, whyChanged: reason },
    attributes: { completionDate: '2031-01-01', completionDatePenalty: 3, completionDateReason: reason },
  },
  HoldDeal: {
    verb: 'hold',
    stateName: 'holded',
    right: 'deal.hold',
    params: { reason },
    attributes: { held: true, holdReason: reason },
  },
  UnholdDeal: { verb: 'unhold', stateName: 'unholded', right: 'deal.unhold', params: {}, attributes: { held: false } },
  CompleteDeal: {
    verb: 'complete',
    stateName: 'completed',
    right: 'deal.complete',
    params: {},
    attributes: { status: 'completed' },
  },
  CancelDeal: {
    verb: 'cancel',
    stateName: 'cancelled',
    right: 'deal.cancel',
    params: { penaltyAmount: 0, reason },
    attributes: { status: 'cancelled', cancelPenalty: 0, cancelReason: reason },
  },
  ReopenDeal: { verb: 'reopen', stateName: 'reopened', right: 'deal.reopen', params: { reason } },
  AssignOwner: {
    verb: 'assign-owner',
    stateName: 'owner-assigned',
    right: 'deal.assign-owner',
    params: { employeeId: 'bob' },
    attributes: { ownerId: 'bob' },
  },
  AddTask: {
    verb: 'add-task',
    stateName: 'task-added',
    right: 'deal.task.add',
    params: { taskId: '55555555-5555-4555-8555-555555555555', title: 'mine' },
  },
  AssignTask: {
    verb: 'assign-task',
    stateName: 'task-assigned',
    right: 'deal.task.assign',
    params: { taskId: plantedTask, employeeId: 'bob' },
  },
  UnassignTask: {
    verb: 'unassign-task',
    stateName: 'task-unassigned',
    right: 'deal.task.assign',
    params: { taskId: plantedTask },
  },
  CompleteTask: {
    verb: 'complete-task',
    stateName: 'task-completed',
    right: 'deal.task.complete',
    params: { taskId: plantedTask },
  },
}

/** A use case that came later is called as it says itself, with the parameters of the transition table. */
const laterRows = transitionTable.flatMap(({ useCase, params }): [string, CommandRow][] => {
  const command = commandNamed(useCase)
  return command && !Object.hasOwn(firstRows, useCase) ? [[useCase, { ...command, params }]] : []
})

export const commandRows: Readonly<Record<string, CommandRow>> = { ...firstRows, ...Object.fromEntries(laterRows) }

/** A route: which use case it calls, or which right it reads by; `open` to everybody. */
export type Entry =
  | { readonly useCase: string; readonly body: 'params' | 'arguments' }
  /** The body names the use case. */
  | { readonly names: 'action' | 'attributes' }
  /** Each command of the body names its use case, and is refused by itself. */
  | { readonly batch: true }
  /** Each call names its tool. */
  | { readonly tools: true }
  /** `shows`: with the right, what was planted can be seen. */
  | { readonly reads: string; readonly shows: boolean }
  /** Needs all of these rights; with them, there is no such webhook or proposal. */
  | { readonly manages: readonly string[]; readonly json?: object }
  | { readonly open: true }

const deal = '/rest/v1/deals/{id}'
const open = { open: true } as const
const reads = (right: string, shows = true) => ({ reads: right, shows })
const calls = (useCase: string) => ({ useCase, body: 'params' as const })

const ofCommands = Object.entries(commandRows).flatMap(([useCase, { verb, stateName }]): [string, Entry][] => [
  [`PUT ${deal}/${verb}`, calls(useCase)],
  [`POST ${deal}/${verb}`, calls(useCase)],
  [`PUT ${deal}/${stateName}`, calls(useCase)],
  [`POST /command/${useCase}/`, { useCase, body: 'arguments' }],
])

const webhook = '/rest/v1/webhooks/{id}'
const setting = ['webhook.manage', 'deal.read', 'deal.history.read']
const ofWebhooks: readonly [string, Entry][] = [
  ['POST /rest/v1/webhooks', { manages: setting, json: { url: 'https://receiver.example/' } }],
  [`GET ${webhook}`, { manages: ['webhook.manage'] }],
  [`PATCH ${webhook}`, { manages: setting, json: { description: null } }],
  [`DELETE ${webhook}`, { manages: ['webhook.manage'] }],
  [`POST ${webhook}/rotate-secret`, { manages: ['webhook.manage'] }],
  [`POST ${webhook}/redeliver`, { manages: setting, json: { after: '0' } }],
  [`POST ${webhook}/test`, { manages: ['webhook.manage'] }],
  [`GET ${webhook}/deliveries`, { manages: ['webhook.manage'] }],
]

const proposal = '/proposals/{id}'
/** Everybody sees those that were made in their own name. */
const ofProposals: readonly [string, Entry][] = [
  ['GET /proposals', open],
  [`GET ${proposal}`, { manages: [] }],
  [`POST ${proposal}/approve`, { manages: ['proposal.decide', 'deal.read'] }],
  [`POST ${proposal}/reject`, { manages: [], json: { reason: 'no' } }],
]

/** Method and path, as the document of the server has them. */
export const routeTable: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  ...ofCommands,
  ['POST /rest/v1/deals', calls('CreateDeal')],
  [`DELETE ${deal}`, calls('DeleteDeal')],
  [`DELETE ${deal}/deleted`, calls('RestoreDeal')],
  [`DELETE ${deal}/holded`, calls('UnholdDeal')],
  [`POST ${deal}/tasks`, calls('AddTask')],
  [`PUT ${deal}`, { names: 'action' }],
  [`PATCH ${deal}`, { names: 'attributes' }],
  ['PUT /commands/{commandId}', { names: 'action' }],
  ['POST /commands', { batch: true }],
  ['POST /mcp', { tools: true }],
  [`PUT ${deal}/commands/{commandId}`, { names: 'action' }],
  ['GET /rest/v1/deals', reads('deal.read')],
  [`GET ${deal}`, reads('deal.read')],
  [`GET ${deal}/holded`, reads('deal.read')],
  [`GET ${deal}/history`, reads('deal.history.read')],
  [`GET ${deal}/commands`, reads('deal.history.read')],
  ['GET /rest/v1/events', reads('deal.history.read')],
  ['GET /commands/{commandId}', reads('deal.read')],
  [`GET ${deal}/commands/{commandId}`, reads('deal.read')],
  ['GET /rest/v1/deals/summary', reads('deal.read')],
  ['GET /query/Deal/{id}', reads('deal.read')],
  ['GET /query/Deals/{selection}', reads('deal.read')],
  ['GET /query/AssignedTask/{username}', reads('task.read-any')],
  ['GET /query/DealHistory/{id}', reads('deal.history.read')],
  ['GET /rest/v1/webhooks', reads('webhook.manage', false)],
  ...ofWebhooks,
  ...ofProposals,
  ...[
    '/',
    '/healthz',
    '/readyz',
    '/metrics',
    '/docs',
    '/docs/assets/{file}',
    '/rest/docs',
    '/rest/docs/assets/{file}',
  ].map((path) => [`GET ${path}`, open] as const),
  ['GET /.well-known/oauth-protected-resource', open],
  ...['/problems', '/problems/{code}', '/openapi.json', '/rest/openapi.json'].map(
    (path) => [`GET ${path}`, open] as const,
  ),
])
