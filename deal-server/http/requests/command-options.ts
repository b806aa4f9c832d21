/** What every style reads of a command beside its body: the query, and header fields. */
import { z } from 'zod'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { CommandOptions } from './invocation.ts'
import { preconditionsOf } from './preconditions.ts'

/** The query of a command. */
export const commandParameters = z.strictObject({ validateOnly: z.enum(['true', 'false']).optional() })

/** What every style reads from a command's query and header fields. @throws ProblemError `invalid-parameter` */
export function commandOptionsOf(request: HttpRequest): CommandOptions {
  const { validateOnly } = readQuery(request, commandParameters)
  return {
    commandId: idempotencyKeyOf(request),
    preconditions: preconditionsOf(request),
    validateOnly: validateOnly === 'true',
  }
}

/** Says of a command that is only tried, whatever comes of it, that nothing is written. */
export function markDryRun(request: HttpRequest): void {
  const isCommand = request.method !== 'GET' && request.method !== 'HEAD'
  if (!isCommand || request.rawQuery === '' || request.query.get('validateOnly') !== 'true') return
  request.addResponseHeader('deal-validated-only', 'true')
}

/** The preferences in a `Prefer` field. A comma within a quoted value separates nothing. */
const preferences = /(?:[^",]|"(?:[^"\\]|\\.?)*"?)+/g

/** True when the client wants no body (RFC 7240 §4.2). Of a preference given twice the first counts (§2). */
export function prefersMinimal(request: HttpRequest): boolean {
  const wanted = request
    .header('prefer')
    ?.match(preferences)
    ?.find((preference) => /^\s*return\s*(=|;|$)/i.test(preference))
  return wanted !== undefined && /^[^=;]*=\s*"?minimal"?\s*(;|$)/i.test(wanted)
}

const commandIdPattern = /^[A-Za-z0-9._~-]{1,128}$/

/**
 * The id that the client gave its command in `Idempotency-Key`, with or without the quotes of a structured field
 * (draft-ietf-httpapi-idempotency-key-header); undefined when it gave none.
 * @throws ProblemError `invalid-parameter`
 */
export function idempotencyKeyOf(request: HttpRequest): string | undefined {
  const value = request.header('idempotency-key')
  return value === undefined ? undefined : requireCommandId(value.replace(/^"(.*)"$/, '$1'))
}

/** @throws ProblemError `invalid-parameter` for what cannot be a command id */
export function requireCommandId(value: string): string {
  if (commandIdPattern.test(value)) return value
  throw new ProblemError('invalid-parameter', 'A command id has 1 to 128 of A-Z, a-z, 0-9, ".", "_", "~" and "-".')
}
