/**
 * The one way in which commands are carried out, whatever the style: load → right by the deal → replay → existence →
 * precondition → decision → commit. Knows no HTTP: a refusal has a code and facts, and the edge makes an answer of it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { IdSource } from '../../shared/platform/ids.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import { type Caller, missingRights, signatureUsed } from '../../shared/protocol/authentication/authenticate.ts'
import { isAnonymous } from '../../shared/protocol/principal/record.ts'
import type { Deal } from '../domain/deal.ts'
import type { AnsweredCommand, CommandContext, CommandRequest, ShownCommand } from './command-context.ts'
import { commitDecision } from './commit.ts'
import { type DecisionPorts, decide } from './decide.ts'
import { createKeyedQueue, type KeyedQueue } from './keyed-queue.ts'
import type { CommandRecord, DealRepository } from './ports.ts'
import { isPresent, noSuchDeal, presentOf } from './presence.ts'
import { replay } from './replay.ts'
import { refusalTo, shownTo } from './withhold-deal.ts'

/** What commands rest on. */
export interface CommandPorts extends DecisionPorts {
  readonly repository: DealRepository
}

/** @throws ProblemError as its caller may see it, Unavailable */
export type ExecuteCommand = (request: CommandRequest) => Promise<ShownCommand>

/** A command that keeps losing its deal to other processes gives up after this many rounds, some two seconds. */
const maxRounds = 200
/** The longest pause before the next round, in milliseconds; a random part of it lets others have their turn. */
const longestPauseMs = 20

/** So long the first copy of a signed request may run while the others wait for its outcome, in milliseconds. */
const firstCopyMaxMs = 5_000
/** Between two looks for that outcome, in milliseconds: `maxRounds` of them are as long. */
const betweenLooksMs = 25

/** One per process: commands on one deal run one after another. */
export function createExecuteCommand(ports: CommandPorts): ExecuteCommand {
  const steps: Steps = { ...ports, queue: createKeyedQueue() }
  return async (request) => {
    const { caller } = request
    try {
      return shownTo(caller, await answerCommand(steps, contextOf(request, ports.ids)))
    } catch (error) {
      throw refusalTo(caller, error)
    }
  }
}

interface Steps extends CommandPorts {
  readonly queue: KeyedQueue
}

function contextOf(request: CommandRequest, ids: IdSource): CommandContext {
  const { caller, commandId } = request
  const key = commandId === undefined ? undefined : { principalId: caller.userId, commandId }
  const dealId = request.dealId ?? ids.uuid()
  const queueKey = request.dealId ?? (key ? `${key.principalId} ${key.commandId}` : dealId)
  return { request, key, dealId, queueKey }
}

const answerCommand = (steps: Steps, context: CommandContext): Promise<AnsweredCommand> =>
  context.request.caller.credential.signature?.isReused
    ? replaySigned(steps, context)
    : steps.queue.run(context.queueKey, () => runCommand(steps, context))

/** Decides and commits; anew when another process was first. */
async function runCommand(steps: Steps, context: CommandContext): Promise<AnsweredCommand> {
  const { bound, caller, requirePrecondition } = context.request
  for (let round = 0; round < maxRounds; round += 1) {
    const { deal, command, purged } = await load(steps.repository, context)
    requireRightsOn(deal, command, context)
    refuseAnonymous(caller)
    if (command) return replay(command, context)
    const present = bound.target === 'deal' ? requireDeal(deal, context) : presentOf(deal)
    const isTaken = purged || deal !== undefined
    const isFulfilled = present !== undefined && bound.isFulfilledBy(present)
    if (!isFulfilled) requirePrecondition(present, isTaken)
    const decided = await decide(steps, context, { present, isTaken })
    const answered = await commitDecision(steps.repository, context, decided)
    if (answered) return answered
    await pause(Math.random() * longestPauseMs)
  }
  throw new Unavailable('database', { retryAfterSeconds: 1 })
}

/**
 * For a signature that was used before: the outcome of the very command that it was used for, else the refusal of the
 * signature. Copies of one request arrive together: while the first may still be running, the others wait for it,
 * outside its queue.
 */
async function replaySigned({ repository, clock }: Steps, context: CommandContext): Promise<AnsweredCommand> {
  const { caller, validateOnly } = context.request
  const { digest, usedAt = 0 } = caller.credential.signature ?? {}
  for (let round = 0; context.key !== undefined && !validateOnly && round < maxRounds; round += 1) {
    const { deal, command } = await load(repository, context)
    requireRightsOn(deal, command, context)
    if (command && command.signature === digest) return replay(command, context)
    if (command || clock.now() - usedAt > firstCopyMaxMs) break
    await pause(betweenLooksMs)
  }
  throw signatureUsed(clock)
}

/** An event must name the user who caused it, whatever rights the principal anonymous was given. */
function refuseAnonymous(caller: Caller): void {
  if (!isAnonymous(caller.username)) return
  throw new ProblemError(
    'missing-right',
    'The principal anonymous reads at most; commands need a credential of a user.',
  )
}

/** Nothing can be stored of a deal whose id was made just now, unless the command has an id. */
function load(repository: DealRepository, { request, dealId, key }: CommandContext) {
  const isChosen = request.dealId !== undefined
  if (!isChosen && key === undefined) return { deal: undefined, command: undefined, purged: false }
  return repository.load(dealId, key, { forCreation: isChosen && request.bound.target === 'collection' })
}

/** For the few commands whose right hangs on the deal, or, once they have run, on what they came to. */
function requireRightsOn(
  deal: Deal | undefined,
  command: CommandRecord | undefined,
  { request: { bound, caller } }: CommandContext,
): void {
  const { missingRights: lacking } = bound
  if (!lacking) return
  const outcome = command?.outcome
  const missing = lacking(presentOf(deal), caller, outcome?.state === 'succeeded' ? outcome.useCases : undefined)
  if (missing.length > 0) throw missingRights(caller, missing)
}

function requireDeal(deal: Deal | undefined, { request: { bound, caller }, dealId }: CommandContext): Deal {
  if (isPresent(deal) || (deal && bound.onDeleted)) return deal
  throw noSuchDeal(deal, { dealId, caller })
}
