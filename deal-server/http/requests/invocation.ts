/** What a style makes of a request: which use case, with which parameters, and how its outcome is written. */

import type { Describe } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import type { Method } from '../../../shared/platform/http/server/routes.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { ShownCommand } from '../../commands/command-context.ts'
import type { FindUserId } from '../../commands/find-assignable-users.ts'
import type { EventStreams, StreamClient } from '../../events/event-streams.ts'
import type { DealReader } from '../../queries/ports.ts'
import type { BoundCommand } from '../../use-cases/define-use-case.ts'
import type { Preconditions } from './preconditions.ts'

/** A route of a style: a codec, and nothing else. */
export interface StyleRoute {
  readonly style: string
  readonly methods: readonly Method[]
  readonly path: string
  /** What the documentation says of it. */
  readonly describe: Describe
  /** @throws ProblemError 400, 404, 415, 422 */
  decode(request: HttpRequest): Promise<Invocation> | Invocation
}

/** What a decoded request asks for. */
export type Invocation = CommandInvocation | QueryInvocation | StreamInvocation

/** A command with its parameters, and how its style writes the answer. */
export interface CommandInvocation extends CommandOptions {
  readonly kind: 'command'
  readonly bound: BoundCommand
  /** In lower case; undefined when the server is to choose it. */
  readonly dealId: string | undefined
  /** Set where a route serves more than one style. */
  readonly style?: string
  encode(answered: ShownCommand): HttpResponse
}

/** What every style reads from a command's header fields and query. */
export interface CommandOptions {
  /** What makes the command repeatable: the client's own id for it. */
  readonly commandId: string | undefined
  readonly preconditions: Preconditions
  /** Everything but the commit. */
  readonly validateOnly: boolean
}

/** A read, answered at once. */
export interface QueryInvocation {
  readonly kind: 'query'
  /** The rights this caller needs for it. */
  rights(caller: Caller): readonly string[]
  answer(reader: DealReader, caller: Caller, findUserId: FindUserId): Promise<HttpResponse>
}

/** A query whose answer goes on. */
export interface StreamInvocation {
  readonly kind: 'stream'
  readonly rights: readonly string[]
  /** The client's `mayRead` throws once the caller's credential has ended or a right is gone. */
  open(events: Pick<EventStreams, 'open' | 'canBegin'>, client: StreamClient): Promise<HttpResponse>
}
