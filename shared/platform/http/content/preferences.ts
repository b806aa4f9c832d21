import type { HttpRequest } from '../request.ts'

/** The preferences in a `Prefer` field. A comma inside a quoted value is no separator. */
const preferences = /(?:[^",]|"(?:[^"\\]|\\.?)*"?)+/g

/**
 * The value of a preference in `Prefer` (RFC 7240), in lower case; undefined without it or without a value. The first
 * of repeated preferences counts (§2).
 */
export function preferenceOf(request: Pick<HttpRequest, 'header'>, name: string): string | undefined {
  for (const preference of request.header('prefer')?.match(preferences) ?? []) {
    const [, token = '', rest = ''] = /^\s*([^\s=;]+)\s*(.*)$/s.exec(preference) ?? []
    if (token.toLowerCase() !== name) continue
    return /^="?([^\s";]*)"?\s*(?:;|$)/.exec(rest.replace(/^=\s+/, '='))?.[1]?.toLowerCase()
  }
  return undefined
}
