/** What every style reads of a command beside its body: the query, and header fields. */
import { z } from 'zod'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { HttpCall } from '../../../shared/platform/http/request.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { CommandOptions } from './invocation.ts'
import { preconditionsOf } from './preconditions.ts'

/** The query of a command. */
export const commandParameters = z.strictObject({ validateOnly: z.enum(['true', 'false']).optional() })

/** What every style reads from a command's query and header fields. @throws Refused `invalid-parameter` */
export function commandOptionsOf(call: HttpCall): CommandOptions {
  const { validateOnly } = readQuery(call, commandParameters)
  return {
    commandId: idempotencyKeyOf(call),
    preconditions: preconditionsOf(call),
    validateOnly: validateOnly === 'true',
  }
}

/** Says of a command that is only tried, whatever comes of it, that nothing is written. */
export function sayWhenOnlyTried(call: HttpCall): void {
  const isCommand = call.method !== 'GET' && call.method !== 'HEAD'
  if (!isCommand || call.rawQuery === '' || call.query.get('validateOnly') !== 'true') return
  call.addAnswerHeader('deal-validated-only', 'true')
}

/** The preferences in a `Prefer` field. A comma within a quoted value separates nothing. */
const preferences = /(?:[^",]|"(?:[^"\\]|\\.?)*"?)+/g

/** True when the client wants no body (RFC 7240 §4.2). Of a preference given twice the first counts (§2). */
export function prefersMinimal(call: HttpCall): boolean {
  const wanted = call
    .header('prefer')
    ?.match(preferences)
    ?.find((preference) => /^\s*return\s*(=|;|$)/i.test(preference))
  return wanted !== undefined && /^[^=;]*=\s*"?minimal"?\s*(;|$)/i.test(wanted)
}

const commandIdPattern = /^[A-Za-z0-9._~-]{1,128}$/

/**
 * The id that the client gave its command in `Idempotency-Key`, with or without the quotes of a structured field
 * (draft-ietf-httpapi-idempotency-key-header); undefined when it gave none.
 * @throws Refused `invalid-parameter`
 */
export function idempotencyKeyOf(call: HttpCall): string | undefined {
  const value = call.header('idempotency-key')
  return value === undefined ? undefined : requireCommandId(value.replace(/^"(.*)"$/, '$1'))
}

/** @throws Refused `invalid-parameter` for what cannot be a command id */
export function requireCommandId(value: string): string {
  if (commandIdPattern.test(value)) return value
  throw new Refused('invalid-parameter', 'A command id has 1 to 128 of A-Z, a-z, 0-9, ".", "_", "~" and "-".')
}
