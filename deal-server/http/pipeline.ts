/**
 * The pipeline of every request of a style, for all schemes and use cases, in the order of
 * docs/contract/callers.md#order-of-checks. A style implements `decode` and `encode`, a scheme implements
 * `authenticate`. Commands continue in `commands/execute.ts`. No style and no scheme can bypass a step.
 */
import type { HttpRequest } from '../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../shared/platform/http/response.ts'
import { requireSecureTransport } from '../../shared/platform/http/transport.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { type Authenticate, type Caller, signatureUsed } from '../../shared/protocol/authentication/authenticate.ts'
import type { ProposedCommand, ShownCommand } from '../commands/command-context.ts'
import { refuseInTime } from '../commands/refuse-in-time.ts'
import { ReplayedRefusal } from '../commands/replay.ts'
import { requireAnyWidth } from '../commands/require-any-width.ts'
import { onlyOwnerOf, sightOf } from '../domain/sight.ts'
import { createOwnReader } from '../queries/own-reader.ts'
import { createBatches } from './batches.ts'
import { proposedResponse } from './representations/represent-proposal.ts'
import { replayedHeader } from './representations/responses.ts'
import { markDryRun } from './requests/command-options.ts'
import type {
  BoundInvocation,
  CommandInvocation,
  Invocation,
  QueryInvocation,
  Received,
  StreamInvocation,
  StyleRoute,
} from './requests/invocation.ts'
import { requirePreconditions } from './requests/preconditions.ts'
import type { DealServices } from './services/deal-services.ts'

/** Handles a request of a style. @throws ProblemError, Unavailable: they become problem documents */
export type Pipeline = (request: HttpRequest, route: StyleRoute) => Promise<HttpResponse>

/** Makes the pipeline of all styles. */
export function createPipeline(services: DealServices): Pipeline {
  const batches = createBatches(services, (received, invocation) => execute(services, received, invocation))
  return async function handleRequest(request, route) {
    if (route.readsBodyLate) request.refuseLargeBody()
    else await request.readBody() // limits: 413
    requireSecureTransport(request.peer) // transport: 403
    const caller = await services.authenticate(request) // find, verify, principal record: 400, 401, 429; cross-site: 403
    route.requireCaller?.(caller) // kind of credential: 401
    markDryRun(request)
    const received = { request, caller, route }
    if (route.readsBodyLate) return batches.answer(received, () => decode(services, received)) // limits: 413, 429
    const invocation = await decode(services, received) // parse and schema: 400, 415, 422
    return await answer(services, received, invocation)
  }
}

async function answer(services: DealServices, received: Received, invocation: Invocation): Promise<HttpResponse> {
  const { caller } = received
  if (invocation.kind === 'batch') throw new TypeError('A batch reads its body late')
  if (invocation.kind === 'tools')
    return invocation.answer({ ...received, run: (one) => answer(services, received, one) })
  if (invocation.kind === 'stream') return openStream(services, caller, invocation)
  if (invocation.kind === 'query') return answerQuery(services, caller, invocation)
  requireAnyWidth(caller, invocation.bound.rights) // right: 403
  return runCommand(services, received, invocation)
}

/** Authenticates a request whose outcome is not stored: a reused signature is refused. */
export const authenticateOnce =
  ({ authenticate, clock }: DealServices): Authenticate =>
  async (request) => {
    const caller = await authenticate(request)
    markDryRun(request)
    if (caller.credential.signature?.isReused) throw signatureUsed(clock)
    return caller
  }

/** Decodes a request. When it fails and the signature was used before, the reused signature is the refusal. */
async function decode({ clock }: DealServices, { request, caller, route }: Received): Promise<Invocation> {
  try {
    return await route.decode(request)
  } catch (error) {
    if (caller.credential.signature?.isReused && error instanceof ProblemError) throw signatureUsed(clock)
    throw error
  }
}

function answerQuery(
  { reader, findUserId }: DealServices,
  caller: Caller,
  { rights, answer }: QueryInvocation,
): Promise<HttpResponse> {
  const needed = rights(caller)
  requireAnyWidth(caller, needed) // right: 403
  const owner = onlyOwnerOf(sightOf(caller, needed))
  const seen = owner ? createOwnReader(reader, owner) : reader
  return refuseInTime(caller, () => answer(seen, caller, findUserId))
}

function openStream(
  { events, recheck }: DealServices,
  caller: Caller,
  stream: StreamInvocation,
): Promise<HttpResponse> {
  const { rights } = stream
  requireAnyWidth(caller, rights) // right: 403; checked again while the stream is open
  const mayRead = async () => {
    const now = await recheck(caller)
    requireAnyWidth(now, rights)
    return sightOf(now, rights)
  }
  return stream.open(events, { principalId: caller.userId, mayRead })
}

/** Right by the deal (403) → replay → existence (404) → precondition (412, 428) → decision (409, 422) → commit. */
const execute = (
  { executeCommand }: DealServices,
  { request, caller, route }: Received,
  { bound, dealId, commandId, validateOnly, preconditions, style = route.style }: BoundInvocation,
): Promise<ShownCommand | ProposedCommand> =>
  refuseInTime(caller, () =>
    executeCommand({
      bound,
      dealId,
      commandId,
      validateOnly,
      caller,
      style,
      requestId: request.requestId,
      traceId: request.traceId,
      requirePrecondition: (deal, isTaken) => requirePreconditions(deal, preconditions, isTaken),
    }),
  )

/** Executes a command and encodes its outcome. */
async function runCommand(
  services: DealServices,
  received: Received,
  invocation: CommandInvocation,
): Promise<HttpResponse> {
  try {
    const command = await execute(services, received, invocation)
    return 'proposal' in command ? proposedResponse(command) : invocation.encode(command)
  } catch (error) {
    if (error instanceof ReplayedRefusal) received.request.addResponseHeader(replayedHeader.name, replayedHeader.value)
    throw error
  }
}
