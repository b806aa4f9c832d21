/**
 * Executes commands of all styles in one order: load → right by the deal → replay → existence → precondition →
 * decision → commit. Knows no HTTP: a refusal has a code and facts, and the HTTP folder makes a response from it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { KeyedQueue } from '../../shared/platform/concurrency/keyed-queue.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import { missingRights, refuseAnonymous, signatureUsed } from '../../shared/protocol/authentication/authenticate.ts'
import type { Deal } from '../domain/deal.ts'
import { isForeign, readingRight, sees, sightOf } from '../domain/sight.ts'
import type { CommandContext, CommandRequest, CommandResult, ProposedCommand, ShownCommand } from './command-context.ts'
import type { CommandSystems } from './command-systems.ts'
import { commitDecision } from './commit.ts'
import { decide } from './decide.ts'
import type { DealRepository, Loaded } from './ports.ts'
import { isPresent, noSuchDeal, presentOf } from './presence.ts'
import { findProposed, isProposed, propose } from './propose.ts'
import { replay } from './replay.ts'
import { requireAnyWidth } from './require-any-width.ts'
import { refusalTo, shownTo, withheldIfForeign } from './withhold-deal.ts'

/** Executes a command. @throws ProblemError as its caller may see it, Unavailable */
export type ExecuteCommand = (request: CommandRequest) => Promise<ShownCommand | ProposedCommand>

/** A command gives up after this many rounds, some two seconds, when other processes always change the deal first. */
const maxRounds = 200
/** The longest pause before the next round, in milliseconds. The pause is random, so that other commands can run. */
const longestPauseMs = 20

/** How long a command may wait for earlier commands on the same deal. */
const queueWait = {
  timeoutMs: 5_000,
  onTimeout: () =>
    new ProblemError(
      'command-in-progress',
      'Other commands on this deal were still running after five seconds. Try again.',
      { retryAfterSeconds: 1, members: { final: false } },
    ),
}

/** How long copies of a signed request wait for the outcome of the first copy, in milliseconds. */
const firstCopyMaxMs = 5_000
/** Pause between two reads of that outcome, in milliseconds. `maxRounds` pauses are as long as `firstCopyMaxMs`. */
const pollIntervalMs = 25

/** Makes the executor, one for each process: commands on one deal run one after another. */
export function createExecuteCommand(systems: CommandSystems): ExecuteCommand {
  const queue = new KeyedQueue()
  return async function executeCommand(request) {
    const { caller } = request
    try {
      if (needsReading(request)) requireAnyWidth(caller, [readingRight])
      const context = contextOf(request, systems.ids)
      const result = caller.credential.signature?.isReused
        ? await replaySigned(systems, context)
        : await queue.run(context.queueKey, () => runCommand(systems, context), queueWait)
      const command = 'proposal' in result ? result : shownTo(caller, result)
      systems.observeCommand(request, { command })
      return command
    } catch (caught) {
      const error = refusalTo(caller, caught)
      systems.observeCommand(request, { error })
      throw error
    }
  }
}

function contextOf(request: CommandRequest, ids: IdSource): CommandContext {
  const { caller, approves } = request
  const { principalId, commandId } = approves ?? { principalId: caller.userId, commandId: request.commandId }
  const key = commandId === undefined ? undefined : { principalId, commandId }
  const dealId = request.dealId ?? ids.uuid()
  const queueKey = request.dealId ?? (key ? `${key.principalId} ${key.commandId}` : dealId)
  return { request, key, dealId, queueKey }
}

/** Decides and commits. Starts again when another process was first. */
async function runCommand(systems: CommandSystems, context: CommandContext): Promise<CommandResult | ProposedCommand> {
  for (let round = 0; round < maxRounds; round += 1) {
    const loaded = await load(systems.repository, context)
    requireRightsOn(loaded, context)
    const result = await withheldIfForeign(loaded.deal, context, () => decideOn(loaded, systems, context))
    if (result) return result
    await pause(Math.random() * longestPauseMs)
  }
  throw new Unavailable('database', { retryAfterSeconds: 1 })
}

/** Replays, or decides and commits, or proposes; undefined when another process was first. */
async function decideOn(
  { deal, command, purged }: Loaded,
  systems: CommandSystems,
  context: CommandContext,
): Promise<CommandResult | ProposedCommand | undefined> {
  const { bound, caller, requirePrecondition } = context.request
  // Events must name a user.
  refuseAnonymous(caller)
  if (command) return replay(command, context)
  const waits = isProposed(context.request)
  const earlier = waits ? await findProposed(systems, context) : undefined
  if (earlier) return earlier
  const present = bound.target === 'deal' ? requireDeal(deal, context) : presentOf(deal)
  const isTaken = purged || deal !== undefined
  const isFulfilled = present !== undefined && bound.isFulfilledBy(present)
  if (!isFulfilled) requirePrecondition(present, isTaken)
  const decided = await decide(systems, context, { present, isTaken })
  if (waits && decided.events.length > 0) return propose(systems, context, decided)
  return commitDecision(systems.repository, context, decided)
}

/**
 * Answers a request whose signature was used before: with the outcome of the command that used the signature, else
 * with the refusal of the signature. Copies of one request can arrive together: while the first copy may still run,
 * the others wait for its outcome, outside its queue.
 */
async function replaySigned({ repository, clock }: CommandSystems, context: CommandContext): Promise<CommandResult> {
  const { caller, validateOnly } = context.request
  const { digest, usedAt = 0 } = caller.credential.signature ?? {}
  for (let round = 0; context.key !== undefined && !validateOnly && round < maxRounds; round += 1) {
    const loaded = await load(repository, context)
    const { deal, command } = loaded
    requireRightsOn(loaded, context)
    if (command && command.signature === digest)
      return withheldIfForeign(deal, context, async () => replay(command, context))
    if (command || clock.now() - usedAt > firstCopyMaxMs) break
    await pause(pollIntervalMs)
  }
  throw signatureUsed(clock)
}

/** Loads deal and command. Skips the store for a new deal id and no command id: nothing can be stored then. */
function load(repository: DealRepository, { request, dealId, key }: CommandContext) {
  const isChosen = request.dealId !== undefined
  if (!isChosen && key === undefined) return { deal: undefined, command: undefined, purged: false }
  return repository.load(dealId, key, { forCreation: isChosen && request.bound.target === 'collection' })
}

/** A dry run leaves no trace: what it tells of the state of a deal is for its readers. */
const needsReading = ({ bound, validateOnly }: CommandRequest): boolean => validateOnly && bound.target === 'deal'

/**
 * Checks the rights by the deal or, for a replay, by the use cases that ran. A caller whose rights are for own deals
 * gets the same refusal for a foreign deal and for one that never was.
 */
function requireRightsOn({ deal, command }: Loaded, { request, dealId }: CommandContext): void {
  const { bound, caller } = request
  const outcome = command?.outcome
  const known = bound.onDeleted || command ? deal : presentOf(deal)
  const ran = outcome?.state === 'succeeded' ? outcome.useCases : undefined
  const isUnread = needsReading(request) && deal && !sees(sightOf(caller), deal)
  const missing = isUnread ? [readingRight] : bound.missingRights(known, caller, ran)
  const isRefused = missing.length > 0 || bound.target === 'collection'
  if (isRefused && deal && isForeign(caller, deal, [...bound.rights, ...missing]))
    throw noSuchDeal(undefined, { dealId, caller })
  if (missing.length > 0) throw missingRights(caller, missing)
}

function requireDeal(deal: Deal | undefined, { request: { bound, caller }, dealId }: CommandContext): Deal {
  if (isPresent(deal) || (deal && bound.onDeleted)) return deal
  throw noSuchDeal(deal, { dealId, caller })
}
