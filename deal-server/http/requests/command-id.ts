import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'

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
