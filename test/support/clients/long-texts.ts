/**
 * Requests whose texts are as long as they may be: a piece again and again, then an end that is legal or not. A parser
 * that takes time by the square of the length shows itself at the illegal ones.
 */
import type { ReceivedRequest } from '../../../shared/protocol/internal-api/verify-request.ts'
import { type Document, describedIn } from './openapi.ts'

type Json = Record<string, unknown>

/** A request to one route. */
export interface LongRequest {
  readonly name: string
  readonly path: string
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
}

/** The request line and the header fields together may have 16 KiB, and a body whose sender is known 256. */
const headRoom = 15_000
const bodyRoom = 250_000
const urlRoom = 16_384

const pieces = [' ', '"', '%', ',', '-', '.', '/', '0', ':', '<', '=', '?', '[', '\\', 'a', '\t']
const illegalEnd = '\né x y'

const texts = (room: number): [name: string, text: string][] =>
  [['a', ''], ...pieces.map((piece) => [piece, illegalEnd])].map(([piece = '', end]) => [
    `${JSON.stringify(piece)} again and again, then ${JSON.stringify(end)}`,
    piece.repeat(room - illegalEnd.length) + end,
  ])

/** The same in a request target, where nearly every character is written as it is. */
const urlTexts = texts(headRoom).map(([name, text]): [string, string] => {
  const encoded = text.replaceAll(/[^!$&'()*+,\-.0-9:;=@A-Za-z~]/g, (character) => encodeURIComponent(character))
  return [name, encoded.slice(0, headRoom).replace(/%.?$/, '')]
})

/** The same in a header field, which has no line ends, and what a field begins with so that the rest is read. */
const fieldTexts = texts(headRoom).map(([name, text]): [string, string] => [name, text.replace('\n', '')])
const begins: Readonly<Record<string, string>> = { Prefer: 'count=', 'If-Match': '"a"' }

/** A value of a schema with `text` in the place of each text. */
function filled(schema: Json, text: string, resolve: (reference: string) => Json): unknown {
  const inner = (each: unknown) => filled(each as Json, text, resolve)
  if (typeof schema.$ref === 'string') return inner(resolve(schema.$ref))
  const [choice] = [schema.anyOf, schema.oneOf, schema.allOf].filter(Array.isArray).flat()
  if (choice !== undefined) return inner(choice)
  if (schema.type === 'array') return [inner(schema.items)]
  if (schema.type !== 'object') return text
  const members = Object.entries((schema.properties ?? {}) as Json)
  return Object.fromEntries(members.map(([name, member]) => [name, inner(member)]))
}

/** How many texts there are in a value. */
const textsIn = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Object.values(value).reduce((sum, each) => sum + textsIn(each), 0) : 1

/** All requests to the routes that a document describes. A parameter of several routes is sent to the first one. */
export function longRequests(document: Document): LongRequest[] {
  const resolve = (reference: string): Json => {
    let value: unknown = document
    for (const part of reference.slice(2).split('/')) value = (value as Json)[part]
    return value as Json
  }
  const seen = new Set<string>()
  return describedIn(document).flatMap(({ method, path, operation }) => {
    const plain = path.replaceAll(/\{[^}]+\}/g, 'some')
    const make = ([name, text]: [string, string], made: (text: string) => Partial<LongRequest>): LongRequest => ({
      name: `${method} ${path}: ${name}`,
      method,
      path: plain,
      ...made(text),
    })
    const inParameters = ((operation.parameters ?? []) as Json[]).flatMap((each) => {
      if (seen.has(JSON.stringify(each))) return []
      seen.add(JSON.stringify(each))
      const { in: place, name } = typeof each.$ref === 'string' ? resolve(each.$ref) : each
      const field = String(name)
      if (place === 'path') return urlTexts.map((each) => make(each, (text) => ({ path: withText(path, field, text) })))
      if (place === 'query')
        return urlTexts.map((each) => make(each, (text) => ({ path: `${plain}?${field}=${text}` })))
      if (place !== 'header') return []
      return fieldTexts.map((each) => make(each, (text) => ({ headers: { [field]: (begins[field] ?? '') + text } })))
    })
    const schema = operation.requestBody?.content['application/json']?.schema
    if (schema === undefined) return inParameters
    const share = Math.floor(bodyRoom / textsIn(filled(schema, '', resolve)) / 2)
    const inBody = texts(share).map((each) => make(each, (text) => ({ json: filled(schema, text, resolve) })))
    return [...inParameters, ...inBody]
  })
}

/** Puts the text in the place of this parameter of a path. */
const withText = (path: string, parameter: string, text: string): string =>
  path.replaceAll(/\{([^}]+)\}/g, (_, name) => (name === parameter ? text : 'some'))

/** Descriptions of requests that a service has received and has verified. */
export const longDescriptions = (): { readonly name: string; readonly received: Partial<ReceivedRequest> }[] =>
  texts(urlRoom - 100).flatMap(([name, text]) => [
    ...['', '?', '?apiKey=a&'].map((begin) => ({
      name: `${begin} and ${name} in the URL`,
      received: { url: `https://a.test/${begin}${text}` },
    })),
    ...['', 'Basic ', 'Digest ', 'KeySigned kst1.'].map((scheme) => ({
      name: `${scheme} and ${name}`,
      received: { headers: { authorization: [scheme + text.slice(-8_000)] } },
    })),
    ...['signature', 'signature-input', 'cookie'].map((field) => ({
      name: `${field}: ${name}`,
      received: { headers: { [field]: [text.slice(-8_000)] } },
    })),
  ])
