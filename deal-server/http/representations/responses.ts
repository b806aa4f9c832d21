/** How outcomes read in status, header fields and body. */
import { emptyResponse, type HttpResponse, jsonResponse } from '../../../shared/platform/http/response.ts'
import type { ShownCommand } from '../../commands/command-context.ts'
import type { Deal } from '../../domain/deal.ts'
import { pathOf, representDeal } from './represent-deal.ts'

/** The strong validator of a deal (RFC 9110 §8.8.3). */
export const etagOf = (deal: Pick<Deal, 'version'>): string => `"${deal.version}"`

/** A deal may be kept by the client that read it, and must be checked before each use. */
export const dealHeaders = (deal: Pick<Deal, 'version'>) => ({ etag: etagOf(deal), ...privateHeaders })

/** For every answer that depends on who asks. */
export const privateHeaders = { 'cache-control': 'private, no-cache', vary: 'Authorization, Cookie' } as const

/**
 * Says that the command has not run now (draft-ietf-httpapi-idempotency-key-header leaves the name open; Stripe's is
 * used).
 */
export const replayedHeader = { name: 'idempotent-replayed', value: 'true' } as const

/** What every style says of an outcome in header fields. */
export const outcomeHeaders = ({ deal, changed, replayed }: ShownCommand) => ({
  ...dealHeaders(deal),
  'deal-changed': String(changed),
  ...(replayed ? { [replayedHeader.name]: replayedHeader.value } : {}),
})

/**
 * 200 with the deal; 201 with `Location` for a new one; 204 for a deleted one, or when no body is wanted (deal model
 * 3.3) or the caller may not read deals.
 */
export function answerWithDeal(answered: ShownCommand, minimal: boolean): HttpResponse {
  const { deal, shown } = answered
  const isNew = deal.version === 1 && answered.record.useCase === 'CreateDeal'
  const headers = { ...outcomeHeaders(answered), ...(isNew ? { location: pathOf(deal) } : {}) }
  if (deal.deletedAt !== null) return emptyResponse(204, headers)
  if (minimal) return emptyResponse(isNew ? 201 : 204, { ...headers, 'preference-applied': 'return=minimal' })
  if (!shown) return emptyResponse(isNew ? 201 : 204, headers)
  return jsonResponse(isNew ? 201 : 200, representDeal(shown.deal), headers)
}
