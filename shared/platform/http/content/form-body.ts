import { Refused } from '../../problems/errors.ts'
import type { HttpCall } from '../request.ts'

/** The media type of a form without files. */
export const formType = 'application/x-www-form-urlencoded'

/** True if `Content-Type` names a form without files. */
export const isForm = (call: HttpCall): boolean =>
  (call.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() === formType

/**
 * The fields of a body of `application/x-www-form-urlencoded` (WHATWG URL, in UTF-8). Stricter than the parsers of
 * browsers: it refuses repeated fields and other input that two parsers could read differently.
 * @throws Refused `unsupported-media-type`, `invalid-body`; `body-too-large`
 */
export async function readForm(call: HttpCall): Promise<ReadonlyMap<string, string>> {
  const bytes = await call.readBody()
  const [type = '', ...parameters] = (call.header('content-type') ?? '').toLowerCase().split(';')
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='))
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset)
  const isPlain = call.header('content-encoding') === undefined
  if (type.trim() !== formType || !isUtf8 || !isPlain) {
    throw new Refused('unsupported-media-type', `Send the body as ${formType} in UTF-8.`)
  }
  const fields = new Map<string, string>()
  for (const pair of bytes.toString('latin1').split('&')) {
    if (pair === '') continue
    const [name, value] = fieldOf(pair)
    if (fields.has(name)) throw new Refused('invalid-body', 'A parameter is given twice.')
    fields.set(name, value)
  }
  return fields
}

function fieldOf(pair: string): [name: string, value: string] {
  const mark = pair.indexOf('=')
  return mark < 0
    ? [decodeFormText(pair), '']
    : [decodeFormText(pair.slice(0, mark)), decodeFormText(pair.slice(mark + 1))]
}

/** Decodes text of a form. @throws Refused `invalid-body` unless it is percent-encoded UTF-8 */
export function decodeFormText(text: string): string {
  try {
    if (/[^\x20-\x7e]/.test(text)) throw new URIError('not ASCII')
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new Refused('invalid-body', 'The body is not well-formed: its text is percent-encoded UTF-8.')
  }
}
