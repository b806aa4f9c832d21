/** The shape of a query, and the table of all of them. A query reads through the repository and changes nothing. */
import type { Deal } from '../domain/deal.ts'
import type { AssignedTask, DealFilter, DealRepository, StoredEvent } from '../domain/repository.ts'

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

/** Deals by filter, newest first. */
export const dealsQuery: Query<DealFilter, Deal[]> = {
  kind: 'query',
  name: 'Deals',
  summary: 'List deals',
  right: 'deal.read',
  run: (filter, repository) => repository.list(filter),
}

/** The open tasks of an employee; one's own without a right. */
export const assignedTaskQuery: Query<{ employeeId: string; limit: number }, AssignedTask[]> = {
  kind: 'query',
  name: 'AssignedTask',
  summary: "List an employee's open tasks",
  right: 'task.read-any',
  run: ({ employeeId, limit }, repository) => repository.assignedTasks(employeeId, limit),
}

/** What happened to a deal. */
export const dealHistoryQuery: Query<{ dealId: string; limit: number }, StoredEvent[]> = {
  kind: 'query',
  name: 'DealHistory',
  summary: 'Read what happened to a deal',
  right: 'deal.history.read',
  run: ({ dealId, limit }, repository) => repository.history(dealId, limit),
}
