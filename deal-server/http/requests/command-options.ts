/** Reads the query and the header fields of a command, for all styles. */
import * as z from 'zod'
import { preferenceOf } from '../../../shared/platform/http/content/preferences.ts'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { CommandOptions } from './invocation.ts'
import { preconditionsOf } from './preconditions.ts'

/** The query parameters of a command. */
export const commandParameters = z.strictObject({ validateOnly: z.enum(['true', 'false']).optional() })

/** Reads the options of a command. @throws ProblemError `invalid-parameter` */
export function commandOptionsOf(request: HttpRequest): CommandOptions {
  const { validateOnly } = readQuery(request, commandParameters)
  return {
    commandId: idempotencyKeyOf(request),
    preconditions: preconditionsOf(request),
    validateOnly: validateOnly === 'true',
  }
}

/** Marks the response to a dry run, whatever its outcome: nothing was written. */
export function markDryRun(request: HttpRequest): void {
  const isCommand = request.method !== 'GET' && request.method !== 'HEAD'
  if (!isCommand || request.rawQuery === '' || request.query.get('validateOnly') !== 'true') return
  request.addResponseHeader('deal-validated-only', 'true')
}

/** True when the client wants no body (RFC 7240 §4.2). */
export const prefersMinimal = (request: HttpRequest): boolean => preferenceOf(request, 'return') === 'minimal'

/** The form of a command id. */
export const commandIdPattern = /^[A-Za-z0-9._~-]{1,128}$/

/**
 * The client's command id in `Idempotency-Key`, with or without the quotes of a structured field
 * (draft-ietf-httpapi-idempotency-key-header); undefined without the field.
 * @throws ProblemError `invalid-parameter`
 */
export function idempotencyKeyOf(request: HttpRequest): string | undefined {
  const value = request.header('idempotency-key')
  return value === undefined ? undefined : requireCommandId(value.replace(/^"(.*)"$/, '$1'))
}

/** @throws ProblemError `invalid-parameter` unless the value has the form of a command id */
export function requireCommandId(value: string): string {
  if (commandIdPattern.test(value)) return value
  throw new ProblemError('invalid-parameter', 'A command id has 1 to 128 of A-Z, a-z, 0-9, ".", "_", "~" and "-".')
}
