import { pointerTo } from '../../problems/check-value.ts'
import { ProblemError } from '../../problems/errors.ts'
import type { HttpRequest } from '../request.ts'
import { isCompressed } from './json-body.ts'

/** The media type of a form without files. */
export const formType = 'application/x-www-form-urlencoded'

/** A form has at most this many fields. */
export const maxFields = 1_000

/** True if `Content-Type` names a form without files. */
export const isForm = (request: HttpRequest): boolean =>
  (request.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() === formType

/**
 * The fields of a body of `application/x-www-form-urlencoded` (WHATWG URL, in UTF-8). Stricter than the parsers of
 * browsers: it refuses repeated fields and other input that two parsers could read differently. At most 1,000 fields.
 * @throws ProblemError `unsupported-media-type`, `invalid-body`; `body-too-large`
 */
export async function readForm(request: HttpRequest): Promise<ReadonlyMap<string, string>> {
  const bytes = await request.readBody()
  const [type = '', ...parameters] = (request.header('content-type') ?? '').toLowerCase().split(';')
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='))
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset)
  if (type.trim() !== formType || !isUtf8 || isCompressed(request)) {
    throw new ProblemError('unsupported-media-type', `Send the body as ${formType} in UTF-8.`)
  }
  const fields = new Map<string, string>()
  const pairs = bytes.toString('latin1').split('&', maxFields + 1)
  if (pairs.length > maxFields) throw new ProblemError('invalid-body', `A form has at most ${maxFields} fields.`)
  for (const pair of pairs) {
    if (pair === '') continue
    const [name, value] = fieldOf(pair)
    if (fields.has(name)) throw givenTwice(name)
    fields.set(name, value)
  }
  return fields
}

function givenTwice(name: string): ProblemError<'invalid-body'> {
  const message = 'A parameter is given twice.'
  return new ProblemError('invalid-body', message, {
    members: { errors: [{ pointer: pointerTo('', [name]), code: 'duplicate', message }] },
  })
}

function fieldOf(pair: string): [name: string, value: string] {
  const mark = pair.indexOf('=')
  return mark < 0
    ? [decodeFormText(pair), '']
    : [decodeFormText(pair.slice(0, mark)), decodeFormText(pair.slice(mark + 1))]
}

/** Decodes text of a form. @throws ProblemError `invalid-body` unless it is percent-encoded UTF-8 */
export function decodeFormText(text: string): string {
  try {
    if (/[^\x20-\x7e]/.test(text)) throw new URIError('not ASCII')
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new ProblemError('invalid-body', 'The body is not well-formed: its text is percent-encoded UTF-8.')
  }
}
