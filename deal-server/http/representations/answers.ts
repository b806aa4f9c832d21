/** How the styles that answer with the deal itself write an outcome. */
import { type Answer, emptyAnswer, jsonAnswer } from '../../../shared/platform/http/answer.ts'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { replayedHeader } from '../../commands/replay.ts'
import type { Deal } from '../../domain/deal.ts'
import type { BoundCommand } from '../../use-cases/define-use-case.ts'
import { commandOptionsOf, prefersMinimal } from '../requests/command-options.ts'
import type { CommandInvocation, ShownCommand } from '../requests/invocation.ts'
import { etagOf } from '../requests/preconditions.ts'
import { pathOf, representDeal } from './represent-deal.ts'

/** A deal may be kept by the client that read it, and must be checked before each use. */
export const dealHeaders = (deal: Pick<Deal, 'version'>) => ({ etag: etagOf(deal), ...privateHeaders })

/** For whatever depends on who asks. */
export const privateHeaders = { 'cache-control': 'private, no-cache', vary: 'Authorization, Cookie' } as const

/** What every style says of an outcome in header fields. */
export const outcomeHeaders = ({ deal, changed, replayed }: ShownCommand) => ({
  ...dealHeaders(deal),
  'deal-changed': String(changed),
  ...(replayed ? replayedHeader : {}),
})

/** An invocation whose outcome is the deal. */
export const dealCommand = (call: HttpCall, bound: BoundCommand, dealId: string | undefined): CommandInvocation => {
  const minimal = prefersMinimal(call)
  return {
    kind: 'command',
    bound,
    dealId,
    ...commandOptionsOf(call),
    encode: (answered) => answerWithDeal(answered, minimal),
  }
}

/**
 * 200 with the deal; 201 with `Location` for a new one; 204 for a deleted one, or when no body is wanted (deal model 3.3) or the
 * caller may not read deals.
 */
function answerWithDeal(answered: ShownCommand, minimal: boolean): Answer {
  const { deal, shown } = answered
  const isNew = deal.version === 1 && answered.record.useCase === 'CreateDeal'
  const headers = { ...outcomeHeaders(answered), ...(isNew ? { location: pathOf(deal) } : {}) }
  if (deal.deletedAt !== null) return emptyAnswer(204, headers)
  if (minimal) return emptyAnswer(isNew ? 201 : 204, { ...headers, 'preference-applied': 'return=minimal' })
  if (!shown) return emptyAnswer(isNew ? 201 : 204, headers)
  return jsonAnswer(isNew ? 201 : 200, representDeal(shown.deal), headers)
}
