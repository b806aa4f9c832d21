/**
 * Batches of commands: how many may be under way, and how each of their commands goes through the steps of the
 * pipeline. The caller is known for the whole batch, and is looked at again while it runs.
 */
import type { Clock } from '../../shared/platform/clock.ts'
import { Permits } from '../../shared/platform/concurrency/permits.ts'
import type { HttpResponse } from '../../shared/platform/http/response.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import {
  type Caller,
  type Recheck,
  requireRights,
  signatureUsed,
} from '../../shared/protocol/authentication/authenticate.ts'
import type { ExecuteCommand } from '../commands/execute.ts'
import type { Invocation, RunLine } from './requests/invocation.ts'
import { type Received, requestOf } from './requests/request-of.ts'

/** Batches of one user that may be under way, and of all users: each holds its body in memory. */
const maxOfUser = 8
const maxInAll = 64
/** Commands of all batches that run at once. Single commands do not wait for them. */
const maxRunning = 48
/** The caller is looked at again when the last look is older, in milliseconds. */
const recheckMs = 200

/** The parts that batches use. */
export interface BatchPorts {
  readonly recheck: Recheck
  readonly executeCommand: ExecuteCommand
  readonly clock: Clock
}

/** The batches of one process. */
export interface Batches {
  /**
   * Answers a batch. `decode` runs only when there is room for one more. @throws ProblemError `too-many-batches`, and
   * those of `decode`
   */
  answer(received: Received, decode: () => Promise<Invocation>): Promise<HttpResponse>
}

/** Makes the batches of one process. */
export function createBatches(ports: BatchPorts): Batches {
  const permits = new Permits(maxRunning)
  const acquire = createRoom()
  return {
    answer: async (received, decode) => {
      const release = acquire(received.caller.userId)
      try {
        const invocation = await decode()
        if (invocation.kind !== 'batch') throw new TypeError('Only batches read their body late')
        const response = invocation.answer(lineRunner(ports, received, permits))
        const { body } = response
        if (typeof body !== 'function') throw new TypeError('The response to a batch is written piece by piece')
        return { ...response, body: (stream) => body(stream).finally(release) }
      } catch (error) {
        release()
        throw error
      }
    },
  }
}

/** Counts batches. The returned function acquires room for one and returns the function that releases it. */
function createRoom(): (userId: string) => () => void {
  /** User id → batches under way; at most `maxInAll`. */
  const ofUsers = new Map<string, number>()
  let inAll = 0
  return (userId) => {
    const own = ofUsers.get(userId) ?? 0
    if (own >= maxOfUser) throw tooMany(`You have ${own} batches under way here; wait for one.`)
    if (inAll >= maxInAll) throw tooMany('The server has as many batches under way as it may have.')
    ofUsers.set(userId, own + 1)
    inAll += 1
    return () => {
      inAll -= 1
      const left = (ofUsers.get(userId) ?? 0) - 1
      if (left > 0) ofUsers.set(userId, left)
      else ofUsers.delete(userId)
    }
  }
}

const tooMany = (detail: string) => new ProblemError('too-many-batches', detail, { retryAfterSeconds: 1 })

function lineRunner(ports: BatchPorts, received: Received, permits: Permits): RunLine {
  const { request, caller } = received
  const current = currentCaller(ports, caller)
  return {
    requestId: request.requestId,
    decode: (decode) => {
      try {
        return decode()
      } catch (error) {
        if (caller.credential.signature?.isReused && error instanceof ProblemError) throw signatureUsed(ports.clock)
        throw error
      }
    },
    execute: (invocation) =>
      permits.run(async () => {
        const now = await current()
        requireRights(now, invocation.bound.rights) // right: 403
        return ports.executeCommand(requestOf({ ...received, caller: now }, invocation))
      }),
  }
}

/** The caller with its rights, never older than `recheckMs`. @throws ProblemError when the credential has ended */
function currentCaller({ recheck, clock }: BatchPorts, caller: Caller): () => Promise<Caller> {
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
