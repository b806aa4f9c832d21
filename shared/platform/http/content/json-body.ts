import type { z } from 'zod'
import { Refused } from '../../problems/errors.ts'
import type { HttpCall } from '../request.ts'
import { type CheckOptions, checkValue } from './check-value.ts'

/**
 * Reads the JSON value in the body. An empty body counts as `{}`: a request without required members needs no body.
 * @throws Refused `unsupported-media-type`, `invalid-body`
 */
export async function readJson(call: HttpCall): Promise<unknown> {
  const bytes = await call.readBody()
  if (bytes.length === 0) return {}
  requireJsonMediaType(call)
  if (call.header('content-encoding') !== undefined) {
    const headers = { 'accept-encoding': 'identity' }
    throw new Refused('unsupported-media-type', 'The body must not be compressed.', { headers })
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw new Refused('invalid-body', 'The body is not valid UTF-8.')
  }
  const value = parse(text)
  if (isDeeperThan(maxDepth, value)) throw new Refused('invalid-body', `The body is more than ${maxDepth} levels deep.`)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refused('invalid-body', 'The body is not valid JSON.')
  }
}

/** No body needs a tenth of this depth. Later code that walks through deeper values would exhaust the stack. */
const maxDepth = 64

const isDeeperThan = (depth: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (depth === 0 || Object.values(value).some((member) => isDeeperThan(depth - 1, member)))

/**
 * Refuses a body where a route takes none: it may be meant for another method. @throws Refused `invalid-body`;
 * `body-too-large`
 */
export async function refuseBody(call: HttpCall): Promise<void> {
  if ((await call.readBody()).length === 0) return
  throw new Refused('invalid-body', `${call.method} takes no body here: send it without one.`)
}

/** Reads the body and checks it against `schema`. @throws Refused as `readJson`, and `invalid-value` */
export async function readBodyAs<Schema extends z.ZodType>(
  call: HttpCall,
  schema: Schema,
  options: CheckOptions = {},
): Promise<z.output<Schema>> {
  return checkValue(schema, await readJson(call), options)
}

/** The media types of PATCH (RFC 5789 §3.1). On both servers, PATCH replaces the members that it names. */
export const acceptPatch = { 'accept-patch': 'application/merge-patch+json, application/json' }

/**
 * Requires `application/json` or `application/*+json`, and UTF-8 if a charset is named (RFC 8259 §8.1, RFC 6839 §3.1).
 */
function requireJsonMediaType(call: HttpCall): void {
  const contentType = call.header('content-type') ?? ''
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  const isJson = type === 'application/json' || /^application\/[a-z0-9.!#$&^_-]+\+json$/.test(type)
  const isUtf8 = charset === undefined || /^"?utf-?8"?$/.test(charset)
  if (isJson && isUtf8) return
  // The answer names the accepted types (RFC 9110 §15.5.16, RFC 5789 §2.2).
  const headers = call.method === 'PATCH' ? acceptPatch : { accept: 'application/json' }
  throw new Refused('unsupported-media-type', 'Send the body as application/json in UTF-8.', { headers })
}
