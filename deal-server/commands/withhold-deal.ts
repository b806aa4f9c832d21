/**
 * Hides the deal from callers without the right to read it. They get success or the reason of the refusal, and the
 * version for the next precondition, but nothing else of the deal (docs/contract/deals.md#callers-without-dealread).
 * The right is checked when the response is made, for a replay too.
 */
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { Deal } from '../domain/deal.ts'
import { isForeign, sees, sightOf } from '../domain/sight.ts'
import type { CommandContext, CommandResult, ShownCommand } from './command-context.ts'
import { ReplayedRefusal } from './replay.ts'

/**
 * The members of a refusal that tell nothing about the deal. Only holders of `deal.restore` get those of a deletion.
 */
const harmlessMembers: ReadonlySet<string> = new Set([
  'requestId',
  'instance',
  'commandId',
  'dealId',
  'useCase',
  'proposalId',
  'final',
  'errors',
  'serverTime',
  'missingRight',
  'missingRights',
  'deletedAt',
  'purgeAt',
])

/** The part of a command's outcome that the caller may see. Styles encode responses from it alone. */
export function shownTo(caller: Caller, { outcome, replayed, record, isWithheld }: CommandResult): ShownCommand {
  const { deal, events, changed, useCases } = outcome
  const { id, version, deletedAt } = deal
  const shown = !isWithheld && sees(sightOf(caller), deal) ? { deal, events } : undefined
  return { deal: { id, version, deletedAt }, changed, useCases, replayed, record, shown }
}

/** A refusal, or any other error, as the caller may see it. Details never tell anything about the deal. */
export function refusalTo(caller: Caller, error: unknown): unknown {
  return error instanceof ProblemError && sightOf(caller).deals === undefined ? withoutDeal(error) : error
}

/**
 * Does the work on a deal. When the deal is foreign to the caller, neither the result nor a refusal tells anything
 * of it.
 */
export async function withheldIfForeign<Result extends object | undefined>(
  deal: Deal | undefined,
  { request: { caller } }: CommandContext,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!deal || !isForeign(caller, deal)) return work()
  try {
    const result = await work()
    return result && { ...result, isWithheld: true }
  } catch (error) {
    throw error instanceof ProblemError ? withoutDeal(error) : error
  }
}

function withoutDeal(error: ProblemError): ProblemError {
  const members = Object.fromEntries(Object.entries(error.members).filter(([name]) => harmlessMembers.has(name)))
  if (error instanceof ReplayedRefusal) return new ReplayedRefusal({ code: error.code, detail: error.message, members })
  return error.withMembers(members)
}
