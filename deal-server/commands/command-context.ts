/** The data of one command: from the request that a style decodes to the outcome that a style encodes. */
import type { Traced } from '../../shared/platform/trace-context.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { Deal } from '../domain/deal.ts'
import type { Proposal, ProposalState } from '../domain/proposals.ts'
import type { BoundCommand } from '../use-cases/define-use-case.ts'
import type { CommandKey, CommandRecord, SucceededCommand } from './ports.ts'

/** A command as its caller sent it. */
export interface CommandRequest extends Traced {
  readonly bound: BoundCommand
  /** In lower case; undefined when the server chooses the id. */
  readonly dealId: string | undefined
  /** The client's id for the command, which makes the command repeatable; undefined when the client sent none. */
  readonly commandId: string | undefined
  /** True for a dry run: every step except the commit. */
  readonly validateOnly: boolean
  readonly caller: Caller
  /** The style of the request, as events and command records store it. */
  readonly style: string
  readonly requestId: string
  /**
   * Checks the preconditions of the caller. `isTaken`: a deal with this id exists or existed.
   * @throws ProblemError `precondition-failed`, `precondition-required`
   */
  readonly requirePrecondition: (deal: Deal | undefined, isTaken: boolean) => void
  /** Set when the caller approves this proposal: the command runs under the key of the proposal. */
  readonly approves?: Proposal
}

/** The request and the values derived from it. They stay the same when a command is decided more than once. */
export interface CommandContext {
  readonly request: CommandRequest
  readonly key: CommandKey | undefined
  /** The id in the request, or a new id. */
  readonly dealId: string
  /** Commands with the same key run one after another. */
  readonly queueKey: string
}

/** The outcome of a command that succeeded, now or when the client sent it for the first time. */
export interface CommandResult {
  readonly outcome: SucceededCommand
  /** True for a stored outcome: the command did not run now. */
  readonly replayed: boolean
  /** True when the caller reads own deals alone, and this is no own deal. */
  readonly isWithheld?: boolean
  /** The first request, for the command resource: who sent it, and when. */
  readonly record: Pick<CommandRecord, 'dealId' | 'params' | 'useCase' | 'requestedBy' | 'requestedAt'>
}

/** The outcome of a command that waits for approval. */
export interface ProposedCommand {
  readonly proposal: Proposal
  readonly state: ProposalState
}

/** The part of an outcome that the caller may see. A style encodes the response from it alone. */
export interface ShownCommand extends Pick<CommandResult, 'replayed' | 'record'> {
  /** The facts of the deal that every caller may see. */
  readonly deal: Pick<Deal, 'id' | 'version' | 'deletedAt'>
  readonly changed: boolean
  readonly useCases: readonly string[]
  /** The rest; undefined for a caller who may not read deals: the response then has no body. */
  readonly shown: Pick<SucceededCommand, 'deal' | 'events'> | undefined
}
