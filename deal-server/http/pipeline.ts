/**
 * The pipeline of every request of a style, for all schemes and use cases, in the order of
 * docs/contract/callers.md#order-of-checks. A style implements `decode` and `encode`, a scheme implements
 * `authenticate`. Commands continue in `commands/execute.ts`. No style and no scheme can bypass a step.
 */
import type { Clock } from '../../shared/platform/clock.ts'
import type { HttpRequest } from '../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../shared/platform/http/response.ts'
import { requireSecureTransport } from '../../shared/platform/http/transport.ts'
import type { UserLimitsOptions } from '../../shared/platform/http/user-limits.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import {
  type Authenticate,
  type Caller,
  type Recheck,
  signatureUsed,
} from '../../shared/protocol/authentication/authenticate.ts'
import type { ShownCommand } from '../commands/command-context.ts'
import type { ExecuteCommand } from '../commands/execute.ts'
import type { FindUserId } from '../commands/find-assignable-users.ts'
import { refuseInTime } from '../commands/refuse-in-time.ts'
import { ReplayedRefusal } from '../commands/replay.ts'
import { requireAnyWidth } from '../commands/require-any-width.ts'
import { onlyOwnerOf, sightOf } from '../domain/sight.ts'
import type { EventStreams } from '../events/event-streams.ts'
import { createOwnReader } from '../queries/own-reader.ts'
import type { DealReader } from '../queries/ports.ts'
import { createBatches } from './batches.ts'
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

/** The parts that the pipeline uses. */
export interface PipelinePorts {
  readonly authenticate: Authenticate
  readonly recheck: Recheck
  readonly executeCommand: ExecuteCommand
  /** How many batches may be under way in this process. */
  readonly batches: UserLimitsOptions
  readonly reader: DealReader
  readonly findUserId: FindUserId
  readonly events: Pick<EventStreams, 'open' | 'canBegin'>
  readonly clock: Clock
}

/** Handles a request of a style. @throws ProblemError, Unavailable: they become problem documents */
export type Pipeline = (request: HttpRequest, route: StyleRoute) => Promise<HttpResponse>

/** Makes the pipeline of all styles. */
export function createPipeline(ports: PipelinePorts): Pipeline {
  const batches = createBatches(ports, (received, invocation) => execute(ports, received, invocation))
  return async function handleRequest(request, route) {
    if (route.readsBodyLate) request.refuseLargeBody()
    else await request.readBody() // limits: 413
    requireSecureTransport(request.peer) // transport: 403
    const caller = await ports.authenticate(request) // find, verify, principal record: 400, 401, 429; cross-site: 403
    markDryRun(request)
    const received = { request, caller, route }
    if (route.readsBodyLate) return batches.answer(received, () => decode(ports, received)) // limits: 413, 429
    const invocation = await decode(ports, received) // parse and schema: 400, 415, 422
    if (invocation.kind === 'batch') throw new TypeError('A batch reads its body late')
    if (invocation.kind === 'stream') return openStream(ports, caller, invocation)
    if (invocation.kind === 'query') return await answerQuery(ports, caller, invocation)
    requireAnyWidth(caller, invocation.bound.rights) // right: 403
    return await runCommand(ports, received, invocation)
  }
}

/** Authenticates a request whose outcome is not stored: a reused signature is refused. */
export const authenticateOnce =
  ({ authenticate, clock }: Pick<PipelinePorts, 'authenticate' | 'clock'>): Authenticate =>
  async (request) => {
    const caller = await authenticate(request)
    markDryRun(request)
    if (caller.credential.signature?.isReused) throw signatureUsed(clock)
    return caller
  }

/** Decodes a request. When it fails and the signature was used before, the reused signature is the refusal. */
async function decode({ clock }: PipelinePorts, { request, caller, route }: Received): Promise<Invocation> {
  try {
    return await route.decode(request)
  } catch (error) {
    if (caller.credential.signature?.isReused && error instanceof ProblemError) throw signatureUsed(clock)
    throw error
  }
}

function answerQuery(
  { reader, findUserId }: PipelinePorts,
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
  { events, recheck }: PipelinePorts,
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
  { executeCommand }: PipelinePorts,
  { request, caller, route }: Received,
  { bound, dealId, commandId, validateOnly, preconditions, style = route.style }: BoundInvocation,
): Promise<ShownCommand> =>
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
  ports: PipelinePorts,
  received: Received,
  invocation: CommandInvocation,
): Promise<HttpResponse> {
  try {
    return invocation.encode(await execute(ports, received, invocation))
  } catch (error) {
    if (error instanceof ReplayedRefusal) received.request.addResponseHeader(replayedHeader.name, replayedHeader.value)
    throw error
  }
}
