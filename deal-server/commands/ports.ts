/**
 * What the deal server remembers, as the pipeline sees it: deals, the commands that clients named, and the events. Loading is one
 * statement, committing is one statement; the store fulfils this (`store/`).
 */
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import type { Deal } from '../domain/deal.ts'
import type { DealEvent } from '../domain/events.ts'
import type { MinorUnits } from '../domain/money.ts'
import type { Task } from '../domain/task.ts'

/** A command id belongs to the user who chose it; the user's immutable id, not the name. */
export interface CommandKey {
  readonly principalId: string
  readonly commandId: string
}

/** One event as it is kept. */
export interface EventRecord {
  /** UUIDv7, for consumers to tell duplicates. */
  readonly id: string
  /** Per deal, without gaps, from 1. */
  readonly sequence: number
  readonly useCase: string
  readonly event: DealEvent
}

/** What a command came to. It is answered again, unchanged, whenever the same command is sent again. */
export type CommandOutcome =
  | {
      readonly state: 'succeeded'
      /** False: the deal was in the target state already. */
      readonly changed: boolean
      /** The deal as the command left it. */
      readonly deal: Deal
      /** The use cases that changed something, in order: several for an update of attributes. */
      readonly useCases: readonly string[]
      readonly events: readonly { readonly id: string; readonly type: string; readonly sequence: number }[]
    }
  | {
      readonly state: 'refused'
      readonly code: string
      readonly detail: string
      readonly members: Readonly<Record<string, unknown>>
    }

/** Who sent a command, how and when. */
export interface CommandContext {
  readonly key: CommandKey | undefined
  readonly actor: string
  /** The immutable id of that user. */
  readonly actorUserId: string
  readonly style: string
  readonly requestId: string
  /** RFC 3339. */
  readonly at: string
}

/** A command that its client named, with what came of it. */
export interface CommandRecord {
  readonly key: CommandKey
  readonly dealId: string
  readonly useCase: string
  readonly params: Readonly<Record<string, unknown>>
  /** SHA-256 (base64url) over use case, deal and parameters as sent. */
  readonly fingerprint: string
  /** Undefined once the answer has expired; the fingerprint stays. */
  readonly outcome: CommandOutcome | undefined
  readonly style: string
  readonly requestId: string
  readonly requestedBy: string
  readonly requestedAt: string
  readonly expiresAt: string
  /** SHA-256 (base64url) of the signature of the signed request that sent it; null for any other. */
  readonly signature: string | null
}

/** What one load finds; undefined is what is not there. */
export interface Loaded {
  readonly deal: Deal | undefined
  readonly command: CommandRecord | undefined
  /** True when the deal was purged: its id stays taken. Looked for on request alone. */
  readonly purged: boolean
}

/** Everything one accepted command writes, in one statement: all of it or nothing. */
export interface DealCommit {
  /** The version the decision was made on; undefined for a new deal. */
  readonly expectedVersion: number | undefined
  readonly deal: Deal
  /** The tasks that are new or have changed. */
  readonly tasks: readonly Task[]
  readonly events: readonly EventRecord[]
  readonly context: CommandContext
  readonly command: CommandRecord | undefined
}

/**
 * `version-lost`, `deal-exists`: another command came first, load and decide anew. `command-taken`: so did one of the same id, load
 * and replay it. Nothing was written in any of the three.
 */
export type CommitResult = 'committed' | 'version-lost' | 'deal-exists' | 'command-taken'

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
export const dealSortKeys = [
  ...(['createdAt', 'updatedAt', 'name', 'price', 'completionDate', 'status', 'ownerId'] as const),
] as const

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

/** An event as it was stored. Amounts in `data` are minor units of `currency`. */
export interface StoredEvent {
  readonly position: number
  readonly id: string
  readonly dealId: string
  readonly sequence: number
  readonly dealVersion: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly currency: string
  readonly occurredAt: string
  readonly actor: string
  /** The immutable id of that user; null in events of before it was kept. */
  readonly actorUserId: string | null
  readonly useCase: string
  readonly style: string
  readonly commandId: string | null
  readonly correlationId: string
  readonly schemaVersion: number
}

export interface DealRepository {
  /** `forCreation` asks whether a deal of this id was purged. @throws Unavailable */
  load(
    dealId: string | undefined,
    key: CommandKey | undefined,
    options?: { readonly forCreation: boolean },
  ): Promise<Loaded>
  /** @throws Unavailable; then the command may have been committed all the same, and only its id can tell */
  commit(commit: DealCommit): Promise<CommitResult>
  /** Keeps a command that changes no deal: a refusal, or "it is the state already". @throws Unavailable */
  keepCommand(command: CommandRecord): Promise<'committed' | 'command-taken'>
  /**
   * Deals that are not deleted, without their tasks. A walk over all pages, each begun where the one before ended, gives every deal
   * that is among them from its first page to its last exactly once, at the place that it had when the walk began, whatever is changed
   * meanwhile; what it shows is the deal as it is now. @throws Unavailable
   */
  list(list: DealList): Promise<Page<Deal>>
  /** The named commands of a deal, whoever sent them, oldest first. @throws Unavailable */
  listCommands(dealId: string, page: PageRequest): Promise<Page<CommandRecord>>
  /** What happened to a deal, oldest first; also when it is deleted. @throws Unavailable */
  history(dealId: string, page: PageRequest): Promise<Page<StoredEvent>>
  /** The open tasks of a user, the most urgent first, those without a date last. @throws Unavailable */
  assignedTasks(assignee: Assignee, page: PageRequest): Promise<Page<AssignedTask>>
}
