/**
 * Batches of commands: how many may be under way, and how each of their commands goes through the steps of the
 * pipeline. The caller is known for the whole batch, and is looked at again while it runs.
 */
import { Permits } from '../../shared/platform/concurrency/permits.ts'
import type { HttpResponse } from '../../shared/platform/http/response.ts'
import { UserLimits } from '../../shared/platform/http/user-limits.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { type Caller, signatureUsed } from '../../shared/protocol/authentication/authenticate.ts'
import type { ProposedCommand, ShownCommand } from '../commands/command-context.ts'
import { requireAnyWidth } from '../commands/require-any-width.ts'
import type { BoundInvocation, Invocation, Received, RunLine } from './requests/invocation.ts'
import type { DealServices } from './services/deal-services.ts'

/** Commands of all batches that run at once. Single commands do not wait for them. */
const maxRunning = 48
/** The caller is looked at again when the last look is older, in milliseconds. */
const recheckMs = 200

type ExecuteLine = (received: Received, invocation: BoundInvocation) => Promise<ShownCommand | ProposedCommand>

/** The batches of one process. */
export interface Batches {
  /**
   * Answers a batch. `decode` runs only when there is room for one more. @throws ProblemError `too-many-batches`, and
   * those of `decode`
   */
  answer(received: Received, decode: () => Promise<Invocation>): Promise<HttpResponse>
}

/** Makes the batches of one process. */
export function createBatches(services: DealServices, execute: ExecuteLine): Batches {
  const permits = new Permits(maxRunning)
  const limits = new UserLimits(services.batches, tooMany)
  return {
    answer: (received, decode) =>
      limits.answer(received.caller.userId, async () => {
        const invocation = await decode()
        if (invocation.kind !== 'batch') throw new TypeError('Only batches read their body late')
        return invocation.answer(lineRunner({ ...services, execute, permits }, received))
      }),
  }
}

const tooMany = (own: number | undefined) =>
  new ProblemError(
    'too-many-batches',
    own === undefined
      ? 'The server has as many batches under way as it may have.'
      : `You have ${own} batches under way here; wait for one.`,
    { retryAfterSeconds: 1 },
  )

function lineRunner(
  { execute, permits, ...services }: DealServices & { execute: ExecuteLine; permits: Permits },
  received: Received,
): RunLine {
  const { request, caller } = received
  const current = currentCaller(services, caller)
  return {
    requestId: request.requestId,
    decode: (decode) => {
      try {
        return decode()
      } catch (error) {
        if (caller.credential.signature?.isReused && error instanceof ProblemError) throw signatureUsed(services.clock)
        throw error
      }
    },
    execute: (invocation) =>
      permits.run(async () => {
        const now = await current()
        requireAnyWidth(now, invocation.bound.rights) // right: 403
        return execute({ ...received, caller: now }, invocation)
      }),
  }
}

/** The caller with its rights, never older than `recheckMs`. @throws ProblemError when the credential has ended */
function currentCaller({ recheck, clock }: DealServices, caller: Caller): () => Promise<Caller> {
  let last = Promise.resolve(caller)
  let at = clock.monotonic()
  return () => {
    const now = clock.monotonic()
    if (now - at >= recheckMs) {
      last = recheck(caller)
      at = now
    }
    return last
  }
}
