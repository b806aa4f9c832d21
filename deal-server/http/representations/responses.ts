/** Encodes outcomes: status, header fields and body. */
import { emptyResponse, type HttpResponse, jsonResponse } from '../../../shared/platform/http/response.ts'
import type { ShownCommand } from '../../commands/command-context.ts'
import type { Deal } from '../../domain/deal.ts'
import { pathOf, representDeal } from './represent-deal.ts'

/** The strong validator of a deal (RFC 9110 §8.8.3). */
export const etagOf = (deal: Pick<Deal, 'version'>): string => `"${deal.version}"`

/** The header fields of a deal: the client may store it, but must revalidate it before each use. */
export const dealHeaders = (deal: Pick<Deal, 'version'>) => ({ etag: etagOf(deal), ...privateHeaders })

/** The header fields of every response that depends on the caller. */
export const privateHeaders = { 'cache-control': 'private, no-cache', vary: 'Authorization, Cookie' } as const

/**
 * Marks a stored outcome: the command did not run now. draft-ietf-httpapi-idempotency-key-header defines no name; this
 * is Stripe's.
 */
export const replayedHeader = { name: 'idempotent-replayed', value: 'true' } as const

/** The header fields of an outcome, in every style. */
export const outcomeHeaders = ({ deal, changed, replayed }: ShownCommand) => ({
  ...dealHeaders(deal),
  'deal-changed': String(changed),
  ...(replayed ? { [replayedHeader.name]: replayedHeader.value } : {}),
})

/**
 * Encodes an outcome as the deal: 200; 201 with `Location` for a new deal; 204 for a deleted deal. Without a body when
 * the client wants none (docs/contract/deals.md#routes-of-the-deal-server) or when the caller may not read deals.
 */
export function dealResponse(command: ShownCommand, minimal: boolean): HttpResponse {
  const { deal, shown } = command
  const isNew = deal.version === 1 && command.record.useCase === 'CreateDeal'
  const headers = { ...outcomeHeaders(command), ...(isNew ? { location: pathOf(deal) } : {}) }
  if (deal.deletedAt !== null) return emptyResponse(204, headers)
  if (minimal) return emptyResponse(isNew ? 201 : 204, { ...headers, 'preference-applied': 'return=minimal' })
  if (!shown) return emptyResponse(isNew ? 201 : 204, headers)
  return jsonResponse(isNew ? 201 : 200, representDeal(shown.deal), headers)
}
