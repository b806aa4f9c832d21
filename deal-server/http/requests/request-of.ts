import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { CommandRequest } from '../../commands/command-context.ts'
import type { BoundInvocation, CommandInvocation, StyleRoute } from './invocation.ts'
import { requirePreconditions } from './preconditions.ts'

/** An authenticated request. */
export interface Received {
  readonly request: HttpRequest
  readonly caller: Caller
  readonly route: StyleRoute
}

/** The command that an authenticated request asks for. */
export const requestOf = (
  { request, caller, route }: Received,
  invocation: BoundInvocation & Pick<CommandInvocation, 'style'>,
): CommandRequest => ({
  bound: invocation.bound,
  dealId: invocation.dealId,
  commandId: invocation.commandId,
  validateOnly: invocation.validateOnly,
  caller,
  style: invocation.style ?? route.style,
  requestId: request.requestId,
  traceId: request.traceId,
  requirePrecondition: (deal, isTaken) => requirePreconditions(deal, invocation.preconditions, isTaken),
})
