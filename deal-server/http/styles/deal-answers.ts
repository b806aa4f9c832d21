/** How the styles that answer with the deal itself write an outcome. */
import { type Answer, emptyAnswer, jsonAnswer } from '../../../shared/http/answer.ts'
import type { Deal } from '../../domain/deal.ts'
import type { AnsweredCommand } from '../invocation.ts'
import { etagOf } from '../preconditions.ts'
import { replayedHeader } from '../replay.ts'
import { pathOf, representDeal } from '../represent-deal.ts'

/** A deal may be kept by the client that read it, and must be checked before each use. */
export const dealHeaders = (deal: Deal) => ({
  etag: etagOf(deal),
  'cache-control': 'private, no-cache',
  vary: 'Authorization, Cookie',
})

/** 200 with the deal; 201 with `Location` for a new one; 204 for a deleted one (deal model 3.3). */
export function answerWithDeal({ outcome, replayed }: AnsweredCommand): Answer {
  const { deal, changed } = outcome
  const headers = {
    ...dealHeaders(deal),
    'deal-changed': String(changed),
    ...(replayed ? replayedHeader : {}),
  }
  if (deal.deletedAt !== null) return emptyAnswer(204, headers)
  if (changed && deal.version === 1) return jsonAnswer(201, representDeal(deal), { ...headers, location: pathOf(deal) })
  return jsonAnswer(200, representDeal(deal), headers)
}
