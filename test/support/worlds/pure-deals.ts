/** Deals made by the pure decisions alone: no server, no store. */
import type { Deal } from '../../../deal-server/domain/deal.ts'
import type { DealEvent } from '../../../deal-server/domain/events.ts'
import { type DealRefusal, isRefusal } from '../../../deal-server/domain/refusal.ts'
import { applyEvents } from '../../../deal-server/use-cases/apply-events.ts'
import type { DecisionContext } from '../../../deal-server/use-cases/define-use-case.ts'
import { commandNamed } from '../../../deal-server/use-cases/index.ts'
import { type DealState, waysInto } from './transition-table.ts'

export const pureNow = '2030-03-31T12:00:00.000Z'
const pureDealId = '00000000-0000-4000-8000-000000000000'

const assignableUsers = new Map(
  ['alice', 'carol', 'bob'].map((name) => [name, { username: name, userId: `id of ${name}` }]),
)

const pureContext: DecisionContext = {
  now: pureNow,
  caller: { username: 'alice', userId: 'id of alice' },
  newId: () => '99999999-9999-4999-8999-999999999999',
  defaultCurrency: 'EUR',
  assignableUsers,
  dealId: pureDealId,
}

type Params = Readonly<Record<string, unknown>>

/** The decision of one command, its steps put together. */
export function decidePure(
  [useCase, params]: readonly [string, Params],
  deal: Deal | undefined,
  context: Partial<DecisionContext> = {},
): readonly DealEvent[] | DealRefusal {
  const command = commandNamed(useCase)
  if (!command) throw new TypeError(`no command ${useCase}`)
  const decision = command.bind(params, '').decide(deal, { ...pureContext, ...context })
  return isRefusal(decision) ? decision : decision.flatMap(({ events }) => events)
}

/** The deal after one command. @throws DealRefusal */
export function doPure(
  step: readonly [string, Params],
  deal: Deal | undefined,
  context: Partial<DecisionContext> = {},
): Deal {
  const events = decidePure(step, deal, context)
  if (isRefusal(events)) throw events
  if (events.length === 0 && deal) return deal
  return applyEvents(deal, events, { at: context.now ?? pureNow, actor: 'alice' })
}

/** The deal after some commands. */
export const afterAllOf = (steps: readonly (readonly [string, Params])[], deal?: Deal): Deal | undefined =>
  steps.reduce<Deal | undefined>((before, step) => doPure(step, before), deal)

/** A deal in a state other than ABSENT, more done to it or not. */
export function pureDeal(state: DealState, more: readonly (readonly [string, Params])[] = []): Deal {
  const deal = afterAllOf([...waysInto[state], ...more])
  if (!deal) throw new TypeError('ABSENT is no deal')
  return deal
}

/** The deal with so many tasks in place of its own. */
export function withTasks(deal: Deal, count: number, status: 'open' | 'done'): Deal {
  const [task] = pureDeal('OPEN').tasks
  if (!task) throw new TypeError('the deal has tasks')
  const idOf = (index: number) => `55555555-5555-4555-8555-${String(index).padStart(12, '0')}`
  return { ...deal, tasks: Array.from({ length: count }, (_, index) => ({ ...task, id: idOf(index), status })) }
}
