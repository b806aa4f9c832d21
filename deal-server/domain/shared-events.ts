/** The events that several use cases make. */
import { type Deal, openTasks, withTask } from './deal.ts'
import { type DealEvent, defineEvent } from './events.ts'
import type { MinorUnits } from './money.ts'

const causesOfPenalties: Readonly<Record<string, string | undefined>> = {
  'completion-date-changed': 'for the new completion date',
  cancelled: 'for the cancellation',
}

/** A penalty was added to the total of all penalties. */
export const penaltyCharged = defineEvent({
  type: 'deal.penalty-charged',
  phrase: 'charged a penalty',
  amounts: ['amount'],
  details: (facts) => [`${facts.money('amount')} ${causesOfPenalties[facts.text('cause')] ?? ''}`],
  apply: (deal, { amount }: { amount: MinorUnits; cause: 'completion-date-changed' | 'cancelled' }) => ({
    ...deal,
    penaltyTotal: deal.penaltyTotal + amount,
  }),
})

const causesOfDrops: Readonly<Record<string, string | undefined>> = {
  completed: 'because the deal was completed',
  cancelled: 'because the deal was cancelled',
}

/** An open task ended with its deal. */
export const taskDropped = defineEvent({
  type: 'deal.task-dropped',
  phrase: 'dropped a task',
  details: (facts) => [facts.task(), causesOfDrops[facts.text('cause')] ?? ''],
  apply: (deal, { taskId }: { taskId: string; cause: 'completed' | 'cancelled' }) =>
    withTask(deal, taskId, { status: 'dropped' }),
})

/** The events that drop the open tasks of a deal when it is completed or cancelled. */
export const dropOpenTasks = (deal: Deal, cause: 'completed' | 'cancelled'): DealEvent[] =>
  openTasks(deal).map(({ id }) => taskDropped({ taskId: id, cause }))
