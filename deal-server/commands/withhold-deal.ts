/**
 * What a caller without the right to read deals learns from a command: that it was carried out or why it was refused,
 * and the version for the next precondition; nothing else of the deal (CONTRACT section 10). The right counts at the
 * time of the answer, so also at the time of a replay.
 */
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { readingRight } from '../use-cases/define-use-case.ts'
import type { AnsweredCommand, ShownCommand } from './command-context.ts'
import { ReplayedRefusal } from './replay.ts'

const mayRead = ({ rights }: Caller): boolean => rights.has(readingRight)

/**
 * The members of a refusal that say nothing of the deal; those of the deletion are there for holders of `deal.restore`
 * alone.
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

/** A command's outcome as the caller may see it: styles write answers from this alone. */
export function shownTo(caller: Caller, { outcome, replayed, record }: AnsweredCommand): ShownCommand {
  const { deal, events, changed, useCases } = outcome
  const { id, version, deletedAt } = deal
  const shown = mayRead(caller) ? { deal, events } : undefined
  return { deal: { id, version, deletedAt }, changed, useCases, replayed, record, shown }
}

/** A refusal, or any other error, as the caller may see it. Details say nothing of the deal to anyone. */
export function refusalTo(caller: Caller, error: unknown): unknown {
  if (!(error instanceof ProblemError) || mayRead(caller)) return error
  const { code, message: detail, headers, retryAfterSeconds, cause } = error
  const members = Object.fromEntries(Object.entries(error.members).filter(([name]) => harmlessMembers.has(name)))
  if (error instanceof ReplayedRefusal) return new ReplayedRefusal({ code, detail, members })
  return new ProblemError(code, detail, { members, headers, retryAfterSeconds, cause })
}
