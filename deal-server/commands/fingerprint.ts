import { hash } from 'node:crypto'
import { shortestDecimal } from '../domain/money.ts'
import { mapAmounts } from './amount-parameters.ts'
import type { CommandRequest } from './command-context.ts'

/**
 * SHA-256 (base64url) over the content that a command id stands for: use case, deal and parameters as sent and
 * normalised, as canonical JSON (RFC 8785). Style and URL are no part of it (docs/deal-model.md#fingerprint). The id of
 * a new deal counts as the deal, whether the client sent it in the path or among the parameters.
 */
export function fingerprintOf({ bound, dealId }: Pick<CommandRequest, 'bound' | 'dealId'>): string {
  const { id: _dealId, ...params } = bound.params
  const content = { useCase: bound.name, dealId: dealId ?? null, params: mapAmounts(params, shortestDecimal) }
  return hash('sha256', canonicalJson(content), 'base64url')
}

/**
 * RFC 8785 for values that were parsed from JSON: members sorted by UTF-16 code units, no blanks, numbers in the form
 * of ECMAScript.
 */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}
