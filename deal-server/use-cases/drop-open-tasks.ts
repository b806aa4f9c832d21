import { type Deal, openTasks } from '../domain/deal.ts'
import type { DealEvent } from '../domain/events.ts'

/** The events by which a deal that closes lets go of its open tasks. */
export const dropOpenTasks = (deal: Deal, cause: 'completed' | 'cancelled'): DealEvent[] =>
  openTasks(deal).map(({ id }) => ({ type: 'deal.task-dropped', data: { taskId: id, cause } }))
