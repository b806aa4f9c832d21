/**
 * The one way through the deal server, for every style, scheme and use case, in the order that CONTRACT section 4 promises. A style
 * fills `decode` and `encode`, a scheme `authenticate`, a use case `decide`; nobody can step around the rest.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../shared/clock.ts'
import { Refused, Unavailable } from '../../shared/errors.ts'
import type { Answer } from '../../shared/http/answer.ts'
import type { HttpCall } from '../../shared/http/call.ts'
import { requireSecureTransport } from '../../shared/http/transport.ts'
import type { IdSource } from '../../shared/ids.ts'
import { type Authenticate, type Caller, requireRight } from '../../shared/schemes/authenticate.ts'
import type { DealRepository } from '../domain/repository.ts'
import { commitDecision, decide, type Undertaking } from './command-steps.ts'
import type { FindEmployees } from './employees.ts'
import type { AnsweredCommand, CommandInvocation, StyleRoute } from './invocation.ts'
import type { KeyedQueue } from './keyed-queue.ts'
import { requirePreconditions } from './preconditions.ts'
import { replay } from './replay.ts'

export interface PipelinePorts {
  readonly authenticate: Authenticate
  readonly repository: DealRepository
  readonly findEmployees: FindEmployees
  readonly queue: KeyedQueue
  readonly clock: Clock
  readonly ids: IdSource
  readonly defaultCurrency: string
}

export type Pipeline = (call: HttpCall, route: StyleRoute) => Promise<Answer>

/** A command that keeps losing its deal to other processes gives up after this many rounds, some two seconds. */
const maxRounds = 200
/** The longest pause before the next round, in milliseconds; a random part of it lets others have their turn. */
const longestPauseMs = 20

/** @throws Refused, Unavailable: what becomes a problem document */
export function createPipeline(ports: PipelinePorts): Pipeline {
  return async (call, route) => {
    await call.readBody() /*                                       limits: 413 */
    requireSecureTransport(call.peer) /*                           transport: 403 */
    const caller =
      await ports.authenticate(call) /*               find, verify, principal record: 400, 401, 429, 403 cross-site */
    const invocation = await route.decode(call) /*                 parse and schema: 400, 415, 422 */
    if (invocation.kind === 'query') {
      requireRight(caller, invocation.right) /*                    right: 403 */
      return invocation.answer(ports.repository)
    }
    requireRight(caller, invocation.bound.command.right) /*        right: 403 */
    const undertaking = undertake(ports, { call, caller, route, invocation })
    return invocation.encode(await ports.queue.run(undertaking.queueKey, () => runCommand(ports, undertaking)))
  }
}

/** replay → existence (404) → precondition (412) → decision (409, 422) → commit; anew when another command came in between. */
async function runCommand(ports: PipelinePorts, undertaking: Undertaking): Promise<AnsweredCommand> {
  const { invocation } = undertaking
  for (let round = 0; round < maxRounds; round += 1) {
    const { deal, command } = await load(ports.repository, undertaking)
    if (command) return replay(command, undertaking)
    const present = invocation.bound.command.target === 'deal' ? requireDeal(deal, undertaking.dealId) : deal
    requirePreconditions(present, invocation.preconditions)
    const decided = await decide(ports, undertaking, present)
    const answered = await commitDecision(ports.repository, undertaking, decided)
    if (answered) return answered
    await pause(Math.random() * longestPauseMs)
  }
  throw new Unavailable('database', { retryAfterSeconds: 1 })
}

function undertake(
  { ids }: PipelinePorts,
  from: { call: HttpCall; caller: Caller; route: StyleRoute; invocation: CommandInvocation },
): Undertaking {
  const { call, caller, route, invocation } = from
  const { commandId } = invocation
  const key = commandId === undefined ? undefined : { principalId: caller.userId, commandId }
  const dealId = invocation.dealId ?? ids.uuid()
  const queueKey = invocation.dealId ?? (key ? `${key.principalId} ${key.commandId}` : dealId)
  return { invocation, caller, key, dealId, queueKey, style: route.style, requestId: call.requestId }
}

/** Nothing can be stored of a deal whose id was made just now, unless the command has an id. */
function load(repository: DealRepository, { invocation, dealId, key }: Undertaking) {
  if (invocation.dealId === undefined && key === undefined) return { deal: undefined, command: undefined }
  return repository.load(dealId, key)
}

function requireDeal<Deal extends { deletedAt: string | null }>(deal: Deal | undefined, dealId: string): Deal {
  if (deal?.deletedAt === null) return deal
  throw new Refused('not-found', 'There is no such deal.', { members: { dealId } })
}
