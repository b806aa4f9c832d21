/**
 * What a command needs of the store: the deal, and the commands that clients named. Loading is one statement,
 * committing is one statement (`store/deals.ts`).
 */
import type { Deal } from '../domain/deal.ts'
import type { DealEvent } from '../domain/events.ts'
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
export type CommandOutcome = SucceededCommand | RefusedCommand

/** A command that was accepted. */
export interface SucceededCommand {
  readonly state: 'succeeded'
  /** False: the deal was in the target state already. */
  readonly changed: boolean
  /** The deal as the command left it. */
  readonly deal: Deal
  /** The use cases that changed something, in order: several for an update of attributes. */
  readonly useCases: readonly string[]
  readonly events: readonly { readonly id: string; readonly type: string; readonly sequence: number }[]
}

/** A command that the deal or the facts did not allow. */
export interface RefusedCommand {
  readonly state: 'refused'
  readonly code: string
  readonly detail: string
  readonly members: Readonly<Record<string, unknown>>
}

/** Who sent a command, how and when. */
export interface CommitContext {
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
  readonly context: CommitContext
  readonly command: CommandRecord | undefined
}

/**
 * `version-lost`, `deal-exists`: another command came first, load and decide anew. `command-taken`: so did one of the
 * same id, load and replay it. Nothing was written in any of the three.
 */
export type CommitResult = 'committed' | 'version-lost' | 'deal-exists' | 'command-taken'

/** Where commands read and write. */
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
}
