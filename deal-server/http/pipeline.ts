/**
 * The one way through the deal server, for every style, scheme and use case, in the order that CONTRACT section 4 promises. A style
 * fills `decode` and `encode`, a scheme `authenticate`, a use case `decide`; nobody can step around the rest.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Answer } from '../../shared/platform/http/answer.ts'
import type { HttpCall } from '../../shared/platform/http/call.ts'
import { requireSecureTransport } from '../../shared/platform/http/transport.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { Refused, Unavailable } from '../../shared/platform/problems/errors.ts'
import {
  type Authenticate,
  type Caller,
  missingRights,
  type Recheck,
  requireRights,
  signatureUsed,
} from '../../shared/protocol/authentication/authenticate.ts'
import { isAnonymous } from '../../shared/protocol/principal/record.ts'
import { commitDecision, decide, type Undertaking } from '../commands/command-steps.ts'
import type { FindEmployees, FindUserId } from '../commands/find-employees.ts'
import type { KeyedQueue } from '../commands/keyed-queue.ts'
import type { CommandRecord, DealRepository } from '../commands/ports.ts'
import { isPresent, noSuchDeal, presentOf, seesDeleted } from '../commands/presence.ts'
import { replay } from '../commands/replay.ts'
import { refusalTo, shownTo } from '../commands/withhold-deal.ts'
import type { Deal } from '../domain/deal.ts'
import type { EventStreams } from '../events/event-streams.ts'
import { sayWhenOnlyTried } from './requests/command-options.ts'
import type { AnsweredCommand, CommandInvocation, Invocation, StyleRoute } from './requests/invocation.ts'
import { requirePreconditions } from './requests/preconditions.ts'

export interface PipelinePorts {
  readonly authenticate: Authenticate
  readonly recheck: Recheck
  readonly repository: DealRepository
  readonly events: Pick<EventStreams, 'open' | 'canBegin'>
  readonly findEmployees: FindEmployees
  readonly findUserId: FindUserId
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

/** So long the first copy of a signed request may run while the others wait for its outcome, in milliseconds. */
const firstCopyMaxMs = 5_000
/** Between two looks for that outcome, in milliseconds: `maxRounds` of them are as long. */
const betweenLooksMs = 25

/** @throws Refused, Unavailable: what becomes a problem document */
export function createPipeline(ports: PipelinePorts): Pipeline {
  return async (call, route) => {
    await call.readBody() // limits: 413
    requireSecureTransport(call.peer) // transport: 403
    const caller = await ports.authenticate(call) // find, verify, principal record: 400, 401, 429; cross-site: 403
    sayWhenOnlyTried(call)
    const invocation = await decode(ports, { call, caller, route }) // parse and schema: 400, 415, 422
    if (invocation.kind === 'query') {
      requireRights(caller, invocation.rights(caller)) // right: 403
      return invocation.answer(ports.repository, caller, ports.findUserId)
    }
    if (invocation.kind === 'stream') {
      const { rights } = invocation
      requireRights(caller, rights) // right: 403; and again while the answer goes on
      const mayRead = async () => {
        const now = await ports.recheck(caller)
        requireRights(now, rights)
        return { seesDeleted: seesDeleted(now) }
      }
      return invocation.open(ports.events, { principalId: caller.userId, mayRead })
    }
    requireRights(caller, invocation.bound.rights) // right: 403
    const undertaking = undertake(ports, { call, caller, route, invocation })
    return invocation.encode(shownTo(caller, await answerCommand(ports, undertaking)))
  }
}

/** @throws Refused as its caller may see it, Unavailable */
async function answerCommand(ports: PipelinePorts, undertaking: Undertaking): Promise<AnsweredCommand> {
  const { caller, queueKey } = undertaking
  try {
    if (caller.credential.signature?.isReused) return await replaySigned(ports, undertaking)
    return await ports.queue.run(queueKey, () => runCommand(ports, undertaking))
  } catch (error) {
    throw refusalTo(caller, error)
  }
}

/** A used signature is refused for that before anything else: only the very command that it was used for can be read again. */
async function decode({ clock }: PipelinePorts, { call, caller, route }: Received): Promise<Invocation> {
  try {
    return await route.decode(call)
  } catch (error) {
    if (caller.credential.signature?.isReused && error instanceof Refused) throw signatureUsed(clock)
    throw error
  }
}

interface Received {
  readonly call: HttpCall
  readonly caller: Caller
  readonly route: StyleRoute
}

/** right by the deal (403) → replay → existence (404) → precondition (412, 428) → decision (409, 422) → commit; then anew if it was lost. */
async function runCommand(ports: PipelinePorts, undertaking: Undertaking): Promise<AnsweredCommand> {
  const { bound, preconditions } = undertaking.invocation
  for (let round = 0; round < maxRounds; round += 1) {
    const { deal, command, purged } = await load(ports.repository, undertaking)
    requireRightsOn(deal, command, undertaking)
    refuseAnonymous(undertaking.caller)
    if (command) return replay(command, undertaking)
    const present = bound.target === 'deal' ? requireDeal(deal, undertaking) : presentOf(deal)
    const isTaken = purged || deal !== undefined
    const isFulfilled = present !== undefined && bound.isFulfilledBy(present)
    if (!isFulfilled) requirePreconditions(present, preconditions, isTaken)
    const decided = await decide(ports, undertaking, { present, isTaken })
    const answered = await commitDecision(ports.repository, undertaking, decided)
    if (answered) return answered
    await pause(Math.random() * longestPauseMs)
  }
  throw new Unavailable('database', { retryAfterSeconds: 1 })
}

/**
 * For a signature that was used before: right by the deal (403) → the outcome of the very command that it was used for, else 401. Copies of
 * one request arrive together: while the first may still be running, the others wait for it, outside its queue.
 */
async function replaySigned(ports: PipelinePorts, undertaking: Undertaking): Promise<AnsweredCommand> {
  const { key, caller, invocation } = undertaking
  const { digest, usedAt = 0 } = caller.credential.signature ?? {}
  for (let round = 0; key !== undefined && !invocation.validateOnly && round < maxRounds; round += 1) {
    const { deal, command } = await load(ports.repository, undertaking)
    requireRightsOn(deal, command, undertaking)
    if (command && command.signature === digest) return replay(command, undertaking)
    if (command || ports.clock.now() - usedAt > firstCopyMaxMs) break
    await pause(betweenLooksMs)
  }
  throw signatureUsed(ports.clock)
}

function undertake({ ids }: PipelinePorts, from: Received & { readonly invocation: CommandInvocation }): Undertaking {
  const { call, caller, route, invocation } = from
  const { commandId } = invocation
  const key = commandId === undefined ? undefined : { principalId: caller.userId, commandId }
  const dealId = invocation.dealId ?? ids.uuid()
  const queueKey = invocation.dealId ?? (key ? `${key.principalId} ${key.commandId}` : dealId)
  return {
    invocation,
    caller,
    key,
    dealId,
    queueKey,
    style: invocation.style ?? route.style,
    requestId: call.requestId,
    traceId: call.traceId,
  }
}

/** Whatever rights it was given: nobody could be named as the one who did it. */
function refuseAnonymous(caller: Caller): void {
  if (!isAnonymous(caller.username)) return
  throw new Refused('missing-right', 'The principal anonymous reads at most; commands need a credential of a user.')
}

/** Nothing can be stored of a deal whose id was made just now, unless the command has an id. */
function load(repository: DealRepository, { invocation, dealId, key }: Undertaking) {
  const isChosen = invocation.dealId !== undefined
  if (!isChosen && key === undefined) return { deal: undefined, command: undefined, purged: false }
  return repository.load(dealId, key, { forCreation: isChosen && invocation.bound.target === 'collection' })
}

/** For the few commands whose right hangs on the deal, or, once they have run, on what they came to. */
function requireRightsOn(
  deal: Deal | undefined,
  command: CommandRecord | undefined,
  { invocation, caller }: Undertaking,
): void {
  const { missingRights: lacking } = invocation.bound
  if (!lacking) return
  const outcome = command?.outcome
  const missing = lacking(presentOf(deal), caller, outcome?.state === 'succeeded' ? outcome.useCases : undefined)
  if (missing.length > 0) throw missingRights(caller, missing)
}

function requireDeal(deal: Deal | undefined, { invocation, caller, dealId }: Undertaking): Deal {
  if (isPresent(deal) || (deal && invocation.bound.onDeleted)) return deal
  throw noSuchDeal(deal, { dealId, caller })
}
