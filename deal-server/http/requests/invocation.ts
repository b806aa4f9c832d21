/** A decoded request: the use case, its parameters, and the function that encodes the outcome. */

import type { Describe } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import type { Method, Route } from '../../../shared/platform/http/server/routes.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { ProposedCommand, ShownCommand } from '../../commands/command-context.ts'
import type { FindUserId } from '../../commands/find-assignable-users.ts'
import type { EventStreams, StreamClient } from '../../events/event-streams.ts'
import type { DealReader } from '../../queries/ports.ts'
import type { BoundCommand } from '../../use-cases/define-use-case.ts'
import type { Preconditions } from './preconditions.ts'

/** A route of a style: it decodes requests, and its invocations encode responses. */
export interface StyleRoute extends Pick<Route, 'maxBodyBytes' | 'readsBodyLate'> {
  readonly style: string
  readonly methods: readonly Method[]
  readonly path: string
  /** The description for the OpenAPI document. */
  readonly describe: Describe
  /** Refuses callers by other credentials than the route takes. @throws ProblemError 401 */
  requireCaller?(caller: Caller): void
  /** Decodes a request. @throws ProblemError 400, 404, 415, 422 */
  decode(request: HttpRequest): Promise<Invocation> | Invocation
}

/** An authenticated request. */
export interface Received {
  readonly request: HttpRequest
  readonly caller: Caller
  readonly route: StyleRoute
}

/** A decoded request. */
export type Invocation = CommandInvocation | BatchInvocation | QueryInvocation | StreamInvocation | ToolInvocation

/** A command with its parameters and options. */
export interface BoundInvocation extends CommandOptions {
  readonly bound: BoundCommand
  /** In lower case; undefined when the server chooses the id. */
  readonly dealId: string | undefined
  /** Set when a route serves more than one style. */
  readonly style?: string
}

/** Many commands in one request. Each is decoded when its turn comes. */
export interface BatchInvocation {
  readonly kind: 'batch'
  /** The response writes the outcome of each command as it comes. `run` executes one command. */
  answer(run: RunLine): HttpResponse
}

/**
 * Executes one command of a batch, in the same order of checks as a single one.
 * @throws ProblemError also when the caller's credential or right has ended since the batch began; Unavailable
 */
export interface RunLine {
  /** The result of `decode`, whose refusal is that of a single command. @throws ProblemError */
  decode<Decoded>(decode: () => Decoded): Decoded
  execute(invocation: BoundInvocation): Promise<ShownCommand | ProposedCommand>
  readonly requestId: string
}

/** A message that may call a tool. */
export interface ToolInvocation {
  readonly kind: 'tools'
  /** @throws ProblemError for what is no refusal of a tool */
  answer(one: RunOne): Promise<HttpResponse>
}

/** Runs what a tool stands for, in the same order of checks as a request of its own. */
export interface RunOne extends Omit<Received, 'route'> {
  /** @throws ProblemError, Unavailable */
  run(invocation: Invocation): Promise<HttpResponse>
}

/** A command with its parameters, and the encoder of its style. */
export interface CommandInvocation extends BoundInvocation {
  readonly kind: 'command'
  encode(command: ShownCommand): HttpResponse
}

/** The options in the header fields and the query of a command, in every style. */
export interface CommandOptions {
  /** The client's id for the command, which makes it repeatable. */
  readonly commandId: string | undefined
  readonly preconditions: Preconditions
  /** True for a dry run: every step except the commit. */
  readonly validateOnly: boolean
}

/** A query whose response is complete at once. */
export interface QueryInvocation {
  readonly kind: 'query'
  /** The rights that this caller needs. */
  rights(caller: Caller): readonly string[]
  answer(reader: DealReader, caller: Caller, findUserId: FindUserId): Promise<HttpResponse>
}

/** A query whose response is an endless stream. */
export interface StreamInvocation {
  readonly kind: 'stream'
  readonly rights: readonly string[]
  /** The client's `mayRead` throws when the caller's credential is no longer valid or a right was removed. */
  open(events: EventStreams, client: StreamClient): Promise<HttpResponse>
}
