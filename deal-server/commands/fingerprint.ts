import { createHash } from 'node:crypto'
import { shortestDecimal } from '../domain/money.ts'
import { mapAmounts } from './amount-parameters.ts'
import type { CommandRequest } from './command-context.ts'

/**
 * SHA-256 (base64url) over the content that a command id stands for: use case, deal and parameters as sent and
 * normalised, as canonical JSON (RFC 8785). Neither style nor URL is part of it (deal model 2.2). The id of a new deal
 * may stand in the path or among the parameters.
 */
export function fingerprintOf({ bound, dealId }: Pick<CommandRequest, 'bound' | 'dealId'>): string {
  const { id: _dealId, ...params } = bound.params
  const content = { useCase: bound.name, dealId: dealId ?? null, params: mapAmounts(params, shortestDecimal) }
  return createHash('sha256').update(canonicalJson(content)).digest('base64url')
}

/**
 * RFC 8785 for values that came from JSON: members sorted by UTF-16 code units, no blanks, numbers as ECMAScript writes
 * them.
 */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}
