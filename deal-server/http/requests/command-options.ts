import { z } from 'zod'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import { idempotencyKeyOf } from './command-id.ts'
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
