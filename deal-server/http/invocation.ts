/** What a style makes of a request: which use case, with which parameters, and how its outcome is written. */
import type { Answer } from '../../shared/http/answer.ts'
import type { HttpCall } from '../../shared/http/call.ts'
import type { Method } from '../../shared/http/routes.ts'
import type { CommandOutcome, DealRepository } from '../domain/repository.ts'
import type { BoundCommand } from '../use-cases/define-use-case.ts'
import type { Preconditions } from './preconditions.ts'

/** A route of a style: a codec, and nothing else. */
export interface StyleRoute {
  readonly style: string
  readonly methods: readonly Method[]
  readonly path: string
  /** @throws Refused 400, 404, 415, 422 */
  decode(call: HttpCall): Promise<Invocation> | Invocation
}

export type Invocation = CommandInvocation | QueryInvocation

export interface CommandInvocation {
  readonly kind: 'command'
  readonly bound: BoundCommand
  /** In lower case; undefined when the server is to choose it. */
  readonly dealId: string | undefined
  /** What makes the command repeatable: the client's own id for it. */
  readonly commandId: string | undefined
  readonly preconditions: Preconditions
  encode(answered: AnsweredCommand): Answer
}

export interface AnsweredCommand {
  readonly outcome: Extract<CommandOutcome, { state: 'succeeded' }>
  /** True when the outcome was stored and the command has not run now. */
  readonly replayed: boolean
}

export interface QueryInvocation {
  readonly kind: 'query'
  readonly right: string
  answer(repository: DealRepository): Promise<Answer>
}
