import type { z } from 'zod'
import { DoubledMember, parseJson } from '../../json.ts'
import { type CheckOptions, checkValue } from '../../problems/check-value.ts'
import { ProblemError } from '../../problems/errors.ts'
import type { HttpRequest } from '../request.ts'

/** Changes a JSON text before it is parsed. */
export type AmendJson = (text: string) => string

/**
 * Reads the JSON value in the body. An empty body counts as `{}`: a request without required members needs no body.
 * @throws ProblemError `unsupported-media-type`, `invalid-body`
 */
export async function readJson(request: HttpRequest, amend?: AmendJson): Promise<unknown> {
  const bytes = await request.readBody()
  if (bytes.length === 0) return {}
  requireJsonMediaType(request)
  refuseCompression(request)
  return decodeJson(bytes, 'body', amend)
}

/** True for a body in a coding that changes it. `identity` says that there is none (RFC 9110 §8.4.1). */
export const isCompressed = (request: HttpRequest): boolean =>
  (request.header('content-encoding') ?? '')
    .split(',')
    .some((coding) => !['', 'identity'].includes(coding.trim().toLowerCase()))

/** @throws ProblemError `unsupported-media-type` for a compressed body */
export function refuseCompression(request: HttpRequest): void {
  if (!isCompressed(request)) return
  const headers = { 'accept-encoding': 'identity' }
  throw new ProblemError('unsupported-media-type', 'The body must not be compressed.', { headers })
}

/** The JSON value in these bytes. `what` is their name in refusals. @throws ProblemError `invalid-body` */
export function decodeJson(bytes: Uint8Array, what = 'body', amend: AmendJson = (text) => text): unknown {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new ProblemError('invalid-body', `The ${what} is not valid UTF-8.`)
  }
  const value = parse(amend(text), what)
  if (isDeeperThan(maxDepth, value))
    throw new ProblemError('invalid-body', `The ${what} is more than ${maxDepth} levels deep.`)
  return value
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

function parse(text: string, what: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    const fault = error instanceof DoubledMember ? 'has an object with the same member twice' : 'is not valid JSON'
    throw new ProblemError('invalid-body', `The ${what} ${fault}.`)
  }
}

/** No body needs a tenth of this depth. Later code that walks through deeper values would exhaust the stack. */
const maxDepth = 64

const isDeeperThan = (depth: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (depth === 0 || Object.values(value).some((member) => isDeeperThan(depth - 1, member)))

/**
 * Refuses a body where a route takes none: it may be meant for another method. @throws ProblemError `invalid-body`;
 * `body-too-large`
 */
export async function refuseBody(request: HttpRequest): Promise<void> {
  if ((await request.readBody()).length === 0) return
  throw new ProblemError('invalid-body', `${request.method} takes no body here: send it without one.`)
}

/** Reads the body and checks it against `schema`. @throws ProblemError as `readJson`, and `invalid-value` */
export async function readBodyAs<Schema extends z.ZodType>(
  request: HttpRequest,
  schema: Schema,
  options: CheckOptions = {},
): Promise<z.output<Schema>> {
  return checkValue(schema, await readJson(request), options)
}

/** The media types of PATCH (RFC 5789 §3.1). On both servers, PATCH replaces the members that it names. */
export const acceptPatch = { 'accept-patch': 'application/merge-patch+json, application/json' }

/**
 * Requires `application/json` or `application/*+json`, and UTF-8 if a charset is named (RFC 8259 §8.1, RFC 6839 §3.1).
 */
function requireJsonMediaType(request: HttpRequest): void {
  const { type, isUtf8 } = mediaTypeOf(request)
  if (isJsonType(type) && isUtf8) return
  // The answer names the accepted types (RFC 9110 §15.5.16, RFC 5789 §2.2).
  const headers = request.method === 'PATCH' ? acceptPatch : { accept: 'application/json' }
  throw new ProblemError('unsupported-media-type', 'Send the body as application/json in UTF-8.', { headers })
}

/** True for `application/json` and `application/*+json`. */
export const isJsonType = (type: string): boolean =>
  type === 'application/json' || /^application\/[a-z0-9.!#$&^_-]+\+json$/.test(type)

/** The media type of the body in lower case, and whether its charset, if there is one, is UTF-8. */
export function mediaTypeOf(request: HttpRequest): { readonly type: string; readonly isUtf8: boolean } {
  const contentType = request.header('content-type') ?? ''
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  return { type, isUtf8: charset === undefined || /^"?utf-?8"?$/.test(charset) }
}
