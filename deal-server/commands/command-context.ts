/**
 * A command on its way through the steps, from the request that a style has read to the outcome that a style writes.
 */
import type { Traced } from '../../shared/platform/http/trace.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { Deal } from '../domain/deal.ts'
import type { BoundCommand } from '../use-cases/define-use-case.ts'
import type { CommandKey, CommandRecord, SucceededCommand } from './ports.ts'

/** A command as its caller asks for it. */
export interface CommandRequest extends Traced {
  readonly bound: BoundCommand
  /** In lower case; undefined when the server is to choose it. */
  readonly dealId: string | undefined
  /** The id that the client gave the command, which makes it repeatable; undefined when it gave none. */
  readonly commandId: string | undefined
  /** True: everything but the commit. */
  readonly validateOnly: boolean
  readonly caller: Caller
  /** The style of the request, as events and command records keep it. */
  readonly style: string
  readonly requestId: string
  /**
   * Checks what the caller requires of the deal. `isTaken`: there is, or was, a deal with this id.
   * @throws ProblemError `precondition-failed`, `precondition-required`
   */
  readonly requirePrecondition: (deal: Deal | undefined, isTaken: boolean) => void
}

/** The request and what follows from it: the same in every round of a command that is decided more than once. */
export interface CommandContext {
  readonly request: CommandRequest
  readonly key: CommandKey | undefined
  /** The one in the request, or a new one. */
  readonly dealId: string
  /** Commands with the same key run one after another. */
  readonly queueKey: string
}

/** The outcome of a command that succeeded, now or when it was sent first. */
export interface AnsweredCommand {
  readonly outcome: SucceededCommand
  /** True when the outcome was stored and the command has not run now. */
  readonly replayed: boolean
  /** Who sent it first, and when: what the command resource shows. */
  readonly record: Pick<CommandRecord, 'dealId' | 'params' | 'useCase' | 'requestedBy' | 'requestedAt'>
}

/** What a style writes the answer from: the part of the outcome that the caller may see. */
export interface ShownCommand extends Pick<AnsweredCommand, 'replayed' | 'record'> {
  /** What every caller learns of the deal. */
  readonly deal: Pick<Deal, 'id' | 'version' | 'deletedAt'>
  readonly changed: boolean
  readonly useCases: readonly string[]
  /** The rest; undefined for a caller who may not read deals: the answer then has no body. */
  readonly shown: Pick<SucceededCommand, 'deal' | 'events'> | undefined
}
