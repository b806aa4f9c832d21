/** The deals of the demo: a dozen in different states, with tasks, made by the use cases like any others. */
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { ExecuteCommand } from '../commands/execute.ts'
import type { UserIdentity } from '../domain/own-deals.ts'
import type { DealReader } from '../queries/ports.ts'
import { commands } from '../use-cases/index.ts'

interface Demo {
  readonly executeCommand: ExecuteCommand
  readonly reader: DealReader
  readonly ids: IdSource
  readonly clock: Clock
}

type Step = readonly [useCase: string, params?: Readonly<Record<string, unknown>>]

/** Each deal with the ids of its tasks, so that the same deals are made again and not twice. */
const dealId = (n: number): string => `de301000-0000-4000-8000-${String(n).padStart(12, '0')}`
const taskId = (n: number, task: number): string =>
  `7a5c0000-0000-4000-8000-${String(n * 100 + task).padStart(12, '0')}`

/**
 * The steps of each deal. `CompleteTask` completes its first task. `day` is a day, counted from the first start.
 */
const demoDeals = (day: (days: number) => string): readonly (readonly Step[])[] => {
  const task = (title: string, assigneeId?: string, days = 21): Step => [
    'AddTask',
    { title, dueDate: day(days), ...(assigneeId && { assigneeId }) },
  ]
  return [
    [
      ['CreateDeal', { name: 'Pumps for the Lindau waterworks', price: 48_500, completionDate: day(60) }],
      task('Send the drawings', 'carol'),
      task('Agree on the date of delivery', 'alice', 14),
      ['CompleteTask', { result: 'The drawings are with the customer.' }],
    ],
    [
      [
        'CreateDeal',
        {
          name: 'Spare parts, Hamburg',
          price: 1290.5,
          description: 'Under warranty until the end of the year.',
          completionDate: day(-5),
        },
      ],
      task('Check the warranty', 'carol', -2),
    ],
    [
      ['CreateDeal', { name: 'Control cabinet for Osaka', price: 5_400_000, currency: 'JPY', ownerId: 'carol' }],
      task('Translate the manual', 'carol'),
      ['HoldDeal', { reason: 'The customer awaits the approval of the budget.', reasonCode: 'budget' }],
    ],
    [
      ['CreateDeal', { name: 'Maintenance contract', price: 12_000, completionDate: day(365) }],
      ['ChangePrice', { newPrice: 11_400, reason: 'A discount of five percent for two years.' }],
      task('Plan the first visit', 'bob'),
      task('Order filters'),
    ],
    [
      ['CreateDeal', { name: 'Retrofit of line 4', price: 230_000, completionDate: day(-3), ownerId: 'carol' }],
      ['ChangeCompletionDate', { newDate: day(90), penaltyAmount: 2300, whyChanged: 'The motors come later.' }],
      task('Tell the customer the new date', 'carol'),
      ['CompleteTask', { result: 'By telephone; confirmed by letter.' }],
    ],
    [
      ['CreateDeal', { name: 'Training for operators', price: 3600, currency: 'CHF' }],
      task('Book a room', 'bob', 7),
      task('Print the certificates'),
    ],
    [
      ['CreateDeal', { name: 'Valves for the brewery', price: 7820.75 }],
      ['HoldDeal', { reason: 'The credit limit is used up.', reasonCode: 'credit' }],
    ],
    [
      ['CreateDeal', { name: 'Inspection of the old plant', price: 950 }],
      task('Write the report', 'alice'),
      ['CompleteTask', { result: 'The report has 14 pages.' }],
      ['CompleteDeal', { documentNumber: 'INV-0007', comment: 'Paid at once.' }],
    ],
    [
      ['CreateDeal', { name: 'Compressor, second hand', price: 18_900, currency: 'USD' }],
      ['CompleteDeal', { finalPrice: 18_500, comment: 'The customer fetched it.' }],
    ],
    [
      ['CreateDeal', { name: 'Cables and connectors', price: 640.4 }],
      task('Pack'),
      ['CompleteDeal', { openTasks: 'drop' }],
    ],
    [
      ['CreateDeal', { name: 'Crane for the harbour', price: 1_250_000, completionDate: day(120) }],
      task('Ask for the soil survey', 'alice'),
      ['CancelDeal', { penaltyAmount: 12_500, reason: 'The harbour is not extended.' }],
    ],
    [
      ['CreateDeal', { name: 'Trial of the new sensor', price: 0, ownerId: 'carol' }],
      ['CancelDeal', { penaltyAmount: 0, reason: 'The customer chose another sensor.' }],
    ],
  ]
}

/**
 * Makes the demo deals in the name of a user, in a database without other deals. Each command has an id of its own:
 * when a start was interrupted, the next one makes what is missing.
 *
 * @throws ProblemError, Unavailable: only for a defect or a database that is away
 */
export async function createDemoDeals(user: UserIdentity, { executeCommand, reader, ids, clock }: Demo): Promise<void> {
  const oldest = { sort: { by: 'createdAt', descending: false }, page: { limit: 1, after: undefined } } as const
  const [first] = (await reader.list({ filter: {}, ...oldest })).items
  if (first !== undefined && first.id !== dealId(1)) return
  const caller = callerOf(user)
  // A start that goes on with an interrupted one repeats its commands to the letter.
  const begun = first === undefined ? clock.now() : Date.parse(first.createdAt)
  const day = (days: number) => rfc3339(begun + days * 86_400_000).slice(0, 10)
  for (const [index, steps] of demoDeals(day).entries())
    for (const request of requestsOf(index + 1, steps)) {
      const requestId = ids.uuid()
      const sent = { caller, validateOnly: false, style: 'demo', requestId, traceId: requestId.replaceAll('-', '') }
      await executeCommand({ ...request, ...sent, requirePrecondition: () => undefined })
    }
}

function requestsOf(deal: number, steps: readonly Step[]) {
  return steps.map(([useCase, params = {}], step) => {
    const command = commands.find(({ name }) => name === useCase)
    if (!command) throw new TypeError(`There is no use case ${useCase}.`)
    const id = dealId(deal)
    const own = {
      CreateDeal: { id },
      AddTask: { taskId: taskId(deal, steps.slice(0, step + 1).filter(([name]) => name === 'AddTask').length) },
      CompleteTask: { taskId: taskId(deal, 1) },
    }[useCase]
    return { bound: command.bind({ ...params, ...own }, ''), dealId: id, commandId: `demo-${deal}-${step}` }
  })
}

const callerOf = ({ username, userId }: UserIdentity): Caller => ({
  username,
  userId,
  roles: [],
  rights: new Set(['deal.read', ...commands.flatMap(({ right }) => right ?? []), 'deal.task.assign']),
  scheme: 'bearer',
  generation: 0,
  proposes: false,
  credential: { username, generation: undefined, loginId: undefined, audience: undefined, expiresAt: undefined },
})
