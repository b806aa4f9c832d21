import { createHash } from 'node:crypto'

/** What a command id stands for: use case, deal and parameters as sent and normalised; neither style nor URL (deal model 2.2). */
export interface Content {
  readonly useCase: string
  /** Null where the server is to choose it. */
  readonly dealId: string | null
  readonly params: unknown
}

/** SHA-256 over the canonical JSON (RFC 8785) of `content`, base64url. */
export const fingerprintOf = (content: Content): string =>
  createHash('sha256').update(canonicalJson(content)).digest('base64url')

/** RFC 8785 for values that came from JSON: members sorted by UTF-16 code units, no blanks, numbers as ECMAScript writes them. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}
