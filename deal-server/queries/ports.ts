/** What queries need of the store: one deal or command, and pages of lists (`store/deals.ts`). */
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import type { CommandRecord, DealRepository } from '../commands/ports.ts'
import type { Deal } from '../domain/deal.ts'
import type { MinorUnits } from '../domain/money.ts'
import type { StoredEvent } from '../events/event-log.ts'

/** Which deals a list shows: those that meet every condition that is there. Bounds are inclusive. */
export interface DealFilter {
  readonly status?: Deal['status'] | undefined
  readonly held?: boolean | undefined
  /** A user name in whatever ASCII case. */
  readonly ownerId?: string | undefined
  readonly currency?: string | undefined
  /** Minor units of `currency`, which is there too. */
  readonly priceMin?: MinorUnits | undefined
  readonly priceMax?: MinorUnits | undefined
  /** `YYYY-MM-DD`. */
  readonly completionFrom?: string | undefined
  readonly completionTo?: string | undefined
  /** Part of the name, in whatever case. */
  readonly q?: string | undefined
}

/** What deals can be listed by. */
export const dealSortKeys = ['createdAt', 'updatedAt', 'name', 'price', 'completionDate', 'status', 'ownerId'] as const

/** One of them. */
export type DealSortKey = (typeof dealSortKeys)[number]

/** Ties are in the order of ids, in the same direction; deals without a value come last in either. */
export interface DealSort {
  readonly by: DealSortKey
  readonly descending: boolean
}

/** One page of a list of deals. */
export interface DealList {
  readonly filter: DealFilter
  readonly sort: DealSort
  readonly page: PageRequest
}

/** A task in the list of its assignee. */
export interface AssignedTask {
  readonly taskId: string
  readonly title: string
  readonly dueDate: string | null
  readonly dealId: string
  readonly dealName: string
  readonly dealHeld: boolean
  readonly assignedAt: string
}

/** Whose tasks are asked for. */
export interface Assignee {
  readonly username: string
  /** Of the user who has that name now; undefined when nobody has it: then all count who ever had it. */
  readonly userId: string | undefined
}

/** Where queries read. */
export interface DealReader extends Pick<DealRepository, 'load'> {
  /**
   * Deals that are not deleted, without their tasks. A walk over all pages, each begun where the one before ended,
   * gives every deal that is among them from its first page to its last exactly once, at the place that it had when the
   * walk began, whatever is changed meanwhile; what it shows is the deal as it is now.
   * @throws Unavailable
   */
  list(list: DealList): Promise<Page<Deal>>
  /** The named commands of a deal, whoever sent them, oldest first. @throws Unavailable */
  listCommands(dealId: string, page: PageRequest): Promise<Page<CommandRecord>>
  /** What happened to a deal, oldest first; also when it is deleted. @throws Unavailable */
  history(dealId: string, page: PageRequest): Promise<Page<StoredEvent>>
  /** The open tasks of a user, the most urgent first, those without a date last. @throws Unavailable */
  assignedTasks(assignee: Assignee, page: PageRequest): Promise<Page<AssignedTask>>
}
