/** The shape of a query, and the table of all of them. A query reads through the repository and changes nothing. */
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import type { AssignedTask, Assignee, DealList, DealRepository, StoredEvent } from '../commands/ports.ts'
import type { Deal } from '../domain/deal.ts'

/** A read, for all styles: `right` is what it needs. */
export interface Query<Parameters, Result> {
  readonly kind: 'query'
  readonly name: string
  readonly summary: string
  readonly right: string
  run(parameters: Parameters, repository: DealRepository): Promise<Result>
}

/** One deal, also a deleted one; undefined when there is none. */
export const dealQuery: Query<{ id: string }, Deal | undefined> = {
  kind: 'query',
  name: 'Deal',
  summary: 'Read a deal',
  right: 'deal.read',
  run: async ({ id }, repository) => (await repository.load(id, undefined)).deal,
}

/** Deals by filter, in an order, a page at a time. */
export const dealsQuery: Query<DealList, Page<Deal>> = {
  kind: 'query',
  name: 'Deals',
  summary: 'List deals',
  right: 'deal.read',
  run: (list, repository) => repository.list(list),
}

/** The open tasks of an employee; one's own without a right. */
export const assignedTaskQuery: Query<{ assignee: Assignee; page: PageRequest }, Page<AssignedTask>> = {
  kind: 'query',
  name: 'AssignedTask',
  summary: "List an employee's open tasks",
  right: 'task.read-any',
  run: ({ assignee, page }, repository) => repository.assignedTasks(assignee, page),
}

/** What happened to a deal. */
export const dealHistoryQuery: Query<{ dealId: string; page: PageRequest }, Page<StoredEvent>> = {
  kind: 'query',
  name: 'DealHistory',
  summary: 'Read what happened to a deal',
  right: 'deal.history.read',
  run: ({ dealId, page }, repository) => repository.history(dealId, page),
}
