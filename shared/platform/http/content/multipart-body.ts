import { createTextDecoder, NoText } from '../../files/text-decoder.ts'
import { ProblemError } from '../../problems/errors.ts'
import type { HttpRequest } from '../request.ts'
import { maxFields } from './form-body.ts'
import { mediaTypeOf } from './json-body.ts'

/** The media type of a form with files (RFC 7578). */
export const multipartType = 'multipart/form-data'

/** A file of a form, by the name that the client gives it: its text, or why it has none. */
export type FormFile =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly fault: string }

interface MultipartForm {
  readonly fields: ReadonlyMap<string, string>
  /** Without the empty files of fields that were left empty. */
  readonly files: ReadonlyMap<string, FormFile>
}

/** True if `Content-Type` names a form with files. */
export const isMultipart = (request: HttpRequest): boolean => mediaTypeOf(request).type === multipartType

/**
 * The fields and files of a body of `multipart/form-data`, read whole: the limit of the route bounds them.
 * @throws ProblemError `invalid-body`; `body-too-large`
 */
export async function readMultipart(request: HttpRequest): Promise<MultipartForm> {
  const bytes = await request.readBody()
  const contentType = request.header('content-type') ?? ''
  refuseManyParts(bytes, contentType)
  const found = await parse(bytes, contentType)
  const fields = new Map<string, string>()
  const files = new Map<string, FormFile>()
  for (const [name, value] of found) {
    if (fields.has(name) || files.has(name)) throw new ProblemError('invalid-body', 'A field is given twice.')
    if (typeof value === 'string') fields.set(name, textOf(value, bytes))
    else if (value.name !== '' || value.size > 0) {
      files.set(name, { name: value.name, ...readText(Buffer.from(await value.arrayBuffer())) })
    }
  }
  return { fields, files }
}

/** A field as it was sent: the parser puts U+FFFD in the place of bytes that are not UTF-8. */
function textOf(value: string, bytes: Buffer): string {
  if (!value.includes('\ufffd') || bytes.includes(value)) return value
  throw new ProblemError('invalid-body', 'A field is not valid UTF-8.')
}

function readText(bytes: Buffer): { readonly text: string } | { readonly fault: string } {
  const decode = createTextDecoder()
  try {
    return { text: decode(bytes) + decode() }
  } catch (error) {
    if (error instanceof NoText) return { fault: error.message }
    throw error
  }
}

/** Counts boundaries before anything is parsed. @throws ProblemError `invalid-body` */
function refuseManyParts(bytes: Buffer, contentType: string): void {
  const [, boundary] = /boundary="?([^";\s]+)/i.exec(contentType) ?? []
  if (boundary === undefined) return
  // The last boundary ends the form.
  let [parts, at] = [-1, bytes.indexOf(`--${boundary}`)]
  for (; at >= 0 && parts <= maxFields; parts += 1) at = bytes.indexOf(`--${boundary}`, at + 1)
  if (parts > maxFields) throw new ProblemError('invalid-body', `A form has at most ${maxFields} fields.`)
}

async function parse(bytes: Buffer, contentType: string): Promise<FormData> {
  try {
    // A `Response` parses such bodies, and is at hand without a URL.
    return await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } }).formData()
  } catch (cause) {
    throw new ProblemError('invalid-body', 'The body is no well-formed multipart/form-data.', { cause })
  }
}
