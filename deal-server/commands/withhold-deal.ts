/**
 * Hides the deal from callers without the right to read deals. They get success or the reason of the refusal, and the
 * version for the next precondition, but nothing else of the deal (docs/contract/deals.md#callers-without-dealread).
 * The right is checked when the response is made, for a replay too.
 */
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { readingRight } from '../use-cases/define-use-case.ts'
import type { CommandResult, ShownCommand } from './command-context.ts'
import { ReplayedRefusal } from './replay.ts'

const mayRead = ({ rights }: Caller): boolean => rights.has(readingRight)

/**
 * The members of a refusal that tell nothing about the deal. Only holders of `deal.restore` get those of a deletion.
 */
const harmlessMembers: ReadonlySet<string> = new Set([
  'requestId',
  'instance',
  'commandId',
  'dealId',
  'useCase',
  'final',
  'errors',
  'serverTime',
  'missingRight',
  'missingRights',
  'deletedAt',
  'purgeAt',
])

/** The part of a command's outcome that the caller may see. Styles encode responses from it alone. */
export function shownTo(caller: Caller, { outcome, replayed, record }: CommandResult): ShownCommand {
  const { deal, events, changed, useCases } = outcome
  const { id, version, deletedAt } = deal
  const shown = mayRead(caller) ? { deal, events } : undefined
  return { deal: { id, version, deletedAt }, changed, useCases, replayed, record, shown }
}

/** A refusal, or any other error, as the caller may see it. Details never tell anything about the deal. */
export function refusalTo(caller: Caller, error: unknown): unknown {
  if (!(error instanceof ProblemError) || mayRead(caller)) return error
  const members = Object.fromEntries(Object.entries(error.members).filter(([name]) => harmlessMembers.has(name)))
  if (error instanceof ReplayedRefusal) return new ReplayedRefusal({ code: error.code, detail: error.message, members })
  return error.withMembers(members)
}
