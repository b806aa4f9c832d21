/** The port of queries to the store: one deal or command, and pages of lists (`store/deals.ts`). */
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import type { CommandRecord, DealRepository } from '../commands/ports.ts'
import type { Deal } from '../domain/deal.ts'
import type { FieldValues, FilterField } from '../domain/deal-fields.ts'
import type { MinorUnits } from '../domain/money.ts'
import type { Owned, UserIdentity } from '../domain/own-deals.ts'
import type { Proposal, ProposalState } from '../domain/proposals.ts'
import type { StoredEvent } from '../events/event-log.ts'

type EqualFields = { readonly [Name in FilterField]?: FieldValues[Name] | undefined }

/**
 * The filter of a list: a deal must meet every condition that is set. Bounds are inclusive, except the ends of times,
 * so that `from` of one time span is `to` of the one before.
 */
export interface DealFilter extends EqualFields {
  /** A user name; ASCII case is ignored. */
  readonly ownerId?: string | undefined
  /** Minor units of `currency`, which is then set too. */
  readonly priceMin?: MinorUnits | undefined
  readonly priceMax?: MinorUnits | undefined
  /** `YYYY-MM-DD`. */
  readonly completionFrom?: string | undefined
  readonly completionTo?: string | undefined
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdFrom?: string | undefined
  readonly createdTo?: string | undefined
  readonly updatedFrom?: string | undefined
  readonly updatedTo?: string | undefined
  /** Part of the name or of the description; case is ignored. */
  readonly q?: string | undefined
  /** Only these deals: ids in lower case. */
  readonly ids?: readonly string[] | undefined
  /** Only deals that this user owns, see `owns`. Clients cannot set it. */
  readonly owner?: UserIdentity | undefined
}

/** The keys by which lists of deals can be sorted. */
export const dealSortKeys = ['createdAt', 'updatedAt', 'name', 'price', 'completionDate', 'status', 'ownerId'] as const

/** One of these keys. */
export type DealSortKey = (typeof dealSortKeys)[number]

/** The order of a list. Ties are sorted by id in the same direction; deals without a value always come last. */
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

/** How many deals match a filter. */
export interface DealCount {
  readonly count: number
  /** False for an estimate. */
  readonly isExact: boolean
}

/** What deals can be grouped by, besides their currency. */
export const groupKeys = ['status', 'held', 'ownerId'] as const

/** One of these. */
export type GroupKey = (typeof groupKeys)[number]

/** The sums that are asked for. */
export interface DealSummaryRequest {
  readonly filter: DealFilter
  readonly by: readonly GroupKey[]
}

/** Deals of one currency that have the members by which they were grouped in common. */
export interface DealGroup extends Partial<Pick<Deal, GroupKey>> {
  readonly currency: string
  readonly count: number
  /** The sum of the prices: whole minor units as text, of any length. */
  readonly value: string
}

/** Sums of deals. */
export interface DealSummary {
  /** The largest groups first. */
  readonly groups: readonly DealGroup[]
  readonly totalCount: number
  /** Deals in groups that are left out, because there are too many groups. */
  readonly otherCount: number
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

/** The user whose tasks are listed. */
export interface Assignee {
  readonly username: string
  /** The id of the user who has this name now. Undefined without one: then all users who ever had it count. */
  readonly userId: string | undefined
}

/** A deal as the text of its representation, for responses that show nothing but the deal. */
export interface DealText extends Owned {
  readonly id: string
  readonly version: number
  /** RFC 3339; null unless the deal is deleted. */
  readonly deletedAt: string | null
  readonly purgeAt: string | null
  /** The members of a listed deal but `links`, as the text of a JSON object. */
  readonly members: string
  /** The tasks as clients read them, as the text of a JSON array; null for a deal without tasks. */
  readonly tasks: string | null
}

/** The proposals of a list: those in a state, of one user if `proposer` is set. */
export interface ProposalRequest {
  readonly state: ProposalState
  /** The immutable id of a user. */
  readonly proposer: string | undefined
  /** RFC 3339: what expires by then is no longer open. */
  readonly now: string
  readonly page: PageRequest
}

/** Reads for queries. */
export interface DealReader extends Pick<DealRepository, 'load'> {
  /** Set where every deal of another owner is as one that never was: the user whose deals are read. */
  readonly owner?: UserIdentity
  /** One deal, also a deleted deal; undefined without such a deal. @throws Unavailable */
  loadText(dealId: string): Promise<DealText | undefined>
  /**
   * Lists deals that are not deleted, without tasks. A deal that matches during the whole walk over the pages appears
   * exactly once, at its position when the walk began, with its current values.
   * @throws Unavailable
   */
  list(list: DealList): Promise<Page<Deal>>
  /**
   * Counts the deals that match now. Answers an estimate when an exact count takes too long. @throws Unavailable
   */
  count(filter: DealFilter, isExact: boolean): Promise<DealCount>
  /** Numbers and values of the deals that match now. @throws ProblemError `query-too-slow`; Unavailable */
  summarize(request: DealSummaryRequest): Promise<DealSummary>
  /**
   * The commands of a deal that have an id, of all users, oldest first; none unless `owner` owns the deal.
   * @throws Unavailable
   */
  listCommands(dealId: string, page: PageRequest, owner?: UserIdentity): Promise<Page<CommandRecord>>
  /**
   * The events of a deal, oldest first, also of a deleted deal; none unless `owner` owns the deal. @throws Unavailable
   */
  history(dealId: string, page: PageRequest, owner?: UserIdentity): Promise<Page<StoredEvent>>
  /**
   * The open tasks of a user, the most urgent first, tasks without a date last; those of deals that `owner` owns.
   * @throws Unavailable
   */
  assignedTasks(assignee: Assignee, page: PageRequest, owner?: UserIdentity): Promise<Page<AssignedTask>>
  /** Proposals of all deals, the newest first. @throws Unavailable */
  listProposals(request: ProposalRequest): Promise<Page<Proposal>>
  /** One of them; undefined without such a proposal. @throws Unavailable */
  loadProposal(id: string): Promise<Proposal | undefined>
}
