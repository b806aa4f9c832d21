/**
 * The port of commands to the store: deals, and commands with a client's id. The reads of a load leave
 * together, a commit is one statement (`store/deals.ts`).
 */
import type { Application } from '../../shared/protocol/authentication/application.ts'
import type { Deal } from '../domain/deal.ts'
import type { DealEvent } from '../domain/events.ts'
import type { Proposal } from '../domain/proposals.ts'
import type { Task } from '../domain/task.ts'

/** Identifies a stored command. A command id belongs to the user who chose it: to the immutable id, not to the name. */
export interface CommandKey {
  readonly principalId: string
  readonly commandId: string
}

/** One event as the store keeps it. */
export interface EventRecord {
  /** UUIDv7, by which consumers recognise duplicates. */
  readonly id: string
  /** Per deal, without gaps, from 1. */
  readonly sequence: number
  readonly useCase: string
  readonly event: DealEvent
}

/** The outcome of a command. A repetition of the same command gets the same outcome, unchanged. */
export type CommandOutcome = SucceededCommand | RefusedCommand

/** The outcome of an accepted command. */
export interface SucceededCommand {
  readonly state: 'succeeded'
  /** False: the deal was in the target state already. */
  readonly changed: boolean
  /** The deal after the command. */
  readonly deal: Deal
  /** The use cases that changed something, in order: several for an update of attributes. */
  readonly useCases: readonly string[]
  readonly events: readonly { readonly id: string; readonly type: string; readonly sequence: number }[]
}

/** The outcome of a command that the deal or the facts did not allow. */
export interface RefusedCommand {
  readonly state: 'refused'
  readonly code: string
  readonly detail: string
  readonly members: Readonly<Record<string, unknown>>
}

/** The sender of a command, the style and the time, as events keep them. */
export interface CommitContext {
  readonly key: CommandKey | undefined
  readonly actor: string
  /** The immutable id of that user. */
  readonly actorUserId: string
  /** The application by which that user sent the command; undefined for the user's own credentials. */
  readonly client?: Application | undefined
  readonly style: string
  readonly requestId: string
  /** RFC 3339. */
  readonly at: string
}

/** A command with a client's id, and its outcome. */
export interface CommandRecord {
  readonly key: CommandKey
  readonly dealId: string
  readonly useCase: string
  readonly params: Readonly<Record<string, unknown>>
  /** SHA-256 (base64url) over use case, deal and parameters as sent. */
  readonly fingerprint: string
  /** Undefined after the outcome expired; the fingerprint stays. */
  readonly outcome: CommandOutcome | undefined
  readonly style: string
  readonly requestId: string
  readonly requestedBy: string
  readonly requestedAt: string
  readonly expiresAt: string
  /** SHA-256 (base64url) of the signature of a signed request; null for other requests. */
  readonly signature: string | null
}

/** The result of one load. A member is undefined when the store has no such row. */
export interface Loaded {
  readonly deal: Deal | undefined
  readonly command: CommandRecord | undefined
  /** True when the deal was purged: its id stays taken. Only `forCreation` reads it. */
  readonly purged: boolean
}

/** All that one accepted command writes in one statement: everything or nothing. */
export interface DealCommit {
  /** The deal that the decision was made on, whose version must still be stored; undefined for a new deal. */
  readonly before: Deal | undefined
  readonly deal: Deal
  /** The new and the changed tasks. */
  readonly tasks: readonly Task[]
  readonly events: readonly EventRecord[]
  readonly context: CommitContext
  readonly command: CommandRecord | undefined
}

/**
 * `version-lost`, `deal-exists`: another command was first; load and decide again. `command-taken`: a command with the
 * same id was first; load and replay it. `value-taken`: another deal has
 * the value of a field that a unique index holds. In all these cases nothing was written.
 */
export type CommitResult = 'committed' | 'version-lost' | 'deal-exists' | 'command-taken' | 'value-taken'

/** Loads and saves deals and commands. */
export interface DealRepository {
  /** `forCreation` also reads whether a deal of this id was purged. @throws Unavailable */
  load(
    dealId: string | undefined,
    key: CommandKey | undefined,
    options?: { readonly forCreation: boolean },
  ): Promise<Loaded>
  /** @throws Unavailable; the commit may still have happened, and only the command id can show it */
  commit(commit: DealCommit): Promise<CommitResult>
  /** Stores a command that changes no deal: a refusal or an unchanged outcome. @throws Unavailable */
  keepCommand(command: CommandRecord): Promise<'committed' | 'command-taken'>
  /**
   * Stores a proposal, and its event unless it makes a deal. `version-lost`: nothing was written, because its command
   * has a proposal or another command was first. @throws ProblemError `too-many-proposals`; Unavailable
   */
  propose(proposal: Proposal, commit: DealCommit | undefined): Promise<'committed' | 'version-lost'>
  /** The proposal of a command. @throws Unavailable */
  findProposal(key: CommandKey): Promise<Proposal | undefined>
}
