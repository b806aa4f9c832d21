/** The form of a query, and all queries. A query reads from the store and changes nothing. */
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import type { Deal } from '../domain/deal.ts'
import { readingRight } from '../domain/sight.ts'
import type { StoredEvent } from '../events/event-log.ts'
import type {
  AssignedTask,
  Assignee,
  DealList,
  DealReader,
  DealSummary,
  DealSummaryRequest,
  DealText,
} from './ports.ts'

/** A query, for all styles. A caller needs its `right`. */
export interface Query<Parameters, Result> {
  readonly kind: 'query'
  readonly name: string
  readonly summary: string
  readonly right: string
  run(parameters: Parameters, reader: DealReader): Promise<Result>
}

/** One deal, also a deleted deal; undefined without such a deal. */
export const dealQuery: Query<{ id: string }, Deal | undefined> = {
  kind: 'query',
  name: 'Deal',
  summary: 'Read a deal',
  right: readingRight,
  run: async ({ id }, reader) => (await reader.load(id, undefined)).deal,
}

/** The same deal as the text of its representation. */
export const dealTextQuery: Query<{ id: string }, DealText | undefined> = {
  ...dealQuery,
  run: ({ id }, reader) => reader.loadText(id),
}

/** A page of deals by filter, in an order. */
export const dealsQuery: Query<DealList, Page<Deal>> = {
  kind: 'query',
  name: 'Deals',
  summary: 'List deals',
  right: readingRight,
  run: (list, reader) => reader.list(list),
}

/** Numbers and values of deals by filter, in groups. */
export const dealSummaryQuery: Query<DealSummaryRequest, DealSummary> = {
  kind: 'query',
  name: 'DealSummary',
  summary: 'Sum up deals',
  right: readingRight,
  run: (request, reader) => reader.summarize(request),
}

/** The open tasks of a user. Users need no right for their own tasks. */
export const assignedTaskQuery: Query<{ assignee: Assignee; page: PageRequest }, Page<AssignedTask>> = {
  kind: 'query',
  name: 'AssignedTask',
  summary: "List an employee's open tasks",
  right: 'task.read-any',
  run: ({ assignee, page }, reader) => reader.assignedTasks(assignee, page),
}

/** The events of a deal. */
export const dealHistoryQuery: Query<{ dealId: string; page: PageRequest }, Page<StoredEvent>> = {
  kind: 'query',
  name: 'DealHistory',
  summary: 'Read what happened to a deal',
  right: 'deal.history.read',
  run: ({ dealId, page }, reader) => reader.history(dealId, page),
}
