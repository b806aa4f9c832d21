/** Applies events to a deal. The history of a deal, folded with these functions, gives the stored state. */
import type { Deal } from './deal.ts'
import type { DealEvent, DealEventData, DealEventType } from './events.ts'
import type { Task } from './task.ts'

/** The time and the actor of a command's events. */
export interface Occasion {
  readonly at: string
  readonly actor: string
}

/** The state after the events of one accepted command: version + 1, sequence + 1 for each event. */
export function applyEvents(deal: Deal | undefined, events: readonly DealEvent[], occasion: Occasion): Deal {
  const state = foldEvents(deal, events, occasion)
  return {
    ...state,
    version: (deal?.version ?? 0) + 1,
    sequence: (deal?.sequence ?? 0) + events.length,
    updatedAt: occasion.at,
    updatedBy: occasion.actor,
  }
}

/** The state after some events of a command. Version and sequence stay. */
export function foldEvents(deal: Deal | undefined, events: readonly DealEvent[], occasion: Occasion): Deal {
  const state = events.reduce<Deal | undefined>((before, event) => evolve(before, event, occasion), deal)
  if (!state) throw new TypeError('the first event of a deal is its creation')
  return state
}

type Evolution<Type extends DealEventType> = (deal: Deal, data: DealEventData[Type], occasion: Occasion) => Deal

const notHeld = { held: false, holdReason: null, holdReasonCode: null, heldAt: null, heldBy: null } as const
const notCancelled = { cancelReason: null, cancelPenalty: null, cancelledAt: null } as const

const evolutions: { readonly [Type in Exclude<DealEventType, 'deal.created'>]: Evolution<Type> } = {
  'deal.renamed': (deal, data) => ({ ...deal, name: data.new }),
  'deal.price-changed': (deal, data) => ({ ...deal, price: data.new, priceReason: data.reason }),
  'deal.completion-date-changed': (deal, data) => ({
    ...deal,
    completionDate: data.new,
    completionDateReason: data.why,
    completionDatePenalty: data.penalty,
  }),
  'deal.penalty-charged': (deal, { amount }) => ({ ...deal, penaltyTotal: deal.penaltyTotal + amount }),
  'deal.held': (deal, { reason, code }, { at, actor }) => ({
    ...deal,
    held: true,
    holdReason: reason,
    holdReasonCode: code,
    heldAt: at,
    heldBy: actor,
  }),
  'deal.hold-reason-changed': (deal, { new: { reason, code } }) => ({
    ...deal,
    holdReason: reason,
    holdReasonCode: code,
  }),
  'deal.unheld': (deal) => ({ ...deal, ...notHeld }),
  'deal.completed': (deal, completion) => ({ ...deal, status: 'completed', completion }),
  'deal.cancelled': (deal, { penalty, reason }, { at }) => ({
    ...deal,
    ...notHeld,
    status: 'cancelled',
    cancelReason: reason,
    cancelPenalty: penalty,
    cancelledAt: at,
  }),
  'deal.reopened': (deal) => ({ ...deal, ...notCancelled, status: 'open', completion: null }),
  'deal.owner-assigned': (deal, data) => ({ ...deal, ownerId: data.new, ownerUserId: data.newUserId ?? null }),
  'deal.task-added': (deal, { taskId, title, dueDate, assigneeId, assigneeUserId = null }, { at }) => ({
    ...deal,
    tasks: [
      ...deal.tasks,
      {
        ...newTask,
        id: taskId,
        title,
        dueDate,
        assigneeId,
        assigneeUserId,
        createdAt: at,
        assignedAt: assigneeId && at,
      },
    ],
  }),
  'deal.task-assigned': (deal, { taskId, new: assigneeId, newUserId: assigneeUserId = null }, { at }) =>
    withTask(deal, taskId, { assigneeId, assigneeUserId, assignedAt: at }),
  'deal.task-unassigned': (deal, { taskId }) =>
    withTask(deal, taskId, { assigneeId: null, assigneeUserId: null, assignedAt: null }),
  'deal.task-completed': (deal, { taskId, result }, { at }) =>
    withTask(deal, taskId, { status: 'done', result, doneAt: at }),
  'deal.task-dropped': (deal, { taskId }) => withTask(deal, taskId, { status: 'dropped' }),
  'deal.deleted': (deal, { purgeAt }, { at }) => ({ ...deal, deletedAt: at, purgeAt }),
  'deal.restored': (deal) => ({ ...deal, deletedAt: null, purgeAt: null }),
}

const newTask = { status: 'open', result: null, doneAt: null } as const

const withTask = (deal: Deal, taskId: string, change: Partial<Task>): Deal => ({
  ...deal,
  tasks: deal.tasks.map((task) => (task.id === taskId ? { ...task, ...change } : task)),
})

function evolve(deal: Deal | undefined, event: DealEvent, occasion: Occasion): Deal {
  if (event.type === 'deal.created') return createdDeal(event.data, occasion)
  if (!deal) throw new TypeError(`${event.type} before the creation of the deal`)
  const evolution = evolutions[event.type] as (deal: Deal, data: DealEvent['data'], occasion: Occasion) => Deal
  return evolution(deal, event.data, occasion)
}

const createdDeal = (data: DealEventData['deal.created'], { at, actor }: Occasion): Deal => ({
  ...data,
  ...notHeld,
  ...notCancelled,
  ownerUserId: data.ownerUserId ?? null,
  status: 'open',
  priceReason: null,
  completionDateReason: null,
  completionDatePenalty: null,
  completion: null,
  penaltyTotal: 0,
  tasks: [],
  version: 0,
  sequence: 0,
  createdAt: at,
  createdBy: actor,
  updatedAt: at,
  updatedBy: actor,
  deletedAt: null,
  purgeAt: null,
})
