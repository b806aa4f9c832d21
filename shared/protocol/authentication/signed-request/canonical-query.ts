/**
 * The string to sign of a signed request (docs/contract/callers.md#signed-request). It is made from the request line
 * itself, not from a parsed form of it, so that no two requests share one string.
 */

import { ProblemError } from '../../../platform/problems/errors.ts'
import { lowerCase, signatureParameters } from '../signature-parameters.ts'

interface SignedParameter {
  /** Decoded, with ASCII letters in lower case. */
  readonly name: string
  /** Decoded. */
  readonly value: string
}

/**
 * The parameters of a raw query (without `?`), in their order.
 * @throws ProblemError `invalid-parameter` for a wrong encoding or a parameter that is given twice;
 * `ambiguous-parameter`
 */
export function readSignedQuery(rawQuery: string): SignedParameter[] {
  const decode = plain.test(rawQuery) ? asItStands : decodeText
  const spelled = new Map<string, string>()
  const parameters: SignedParameter[] = []
  for (const part of rawQuery.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const decodedName = decode(at < 0 ? part : part.slice(0, at))
    const value = at < 0 ? '' : decode(part.slice(at + 1))
    if (/[=&]/.test(decodedName) || value.includes('&')) throw ambiguous('a name holds = or &, or a value holds &')
    const name = lowerCase(decodedName)
    const before = spelled.get(name)
    if (before !== undefined && signatureParameters.has(name)) throw invalid(`the parameter ${name} is given twice`)
    if (before !== undefined && before !== decodedName) throw ambiguous('two names differ by the case of letters alone')
    spelled.set(name, decodedName)
    parameters.push({ name, value })
  }
  return parameters
}

/** The string to sign: path, `?`, and the parameters without `signature`, sorted by the octets of name, then value. */
export function stringToSign(path: string, parameters: readonly SignedParameter[]): string {
  const signed = parameters
    .filter(({ name }) => name !== 'signature')
    .map(({ name, value }) => ({ text: `${name}=${value}`, name: octetsOf(name), value: octetsOf(value) }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.value, b.value))
  return `${path}?${signed.map(({ text }) => text).join('&')}`
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

/** The octets of its UTF-8 form, each as one character: comparing such texts compares octets. */
const octetsOf = (text: string): string => (isAscii.test(text) ? text : Buffer.from(text).toString('latin1'))

const isAscii = /^[ -~]*$/

/** A query without any encoding. */
const plain = /^[!"$&-*,-~]*$/
const asItStands = (text: string): string => text

/** Decodes `+` as a space and percent-encoded octets strictly (RFC 3986 §2.1). */
function decodeText(text: string): string {
  let decoded: string
  try {
    if (!/^[!"$-~]*$/.test(text)) throw new URIError('not of a query')
    // `decodeURIComponent` keeps a byte order mark. A decoder that drops it would make two different parameters equal.
    decoded = decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalid('the query is not percent-encoded UTF-8')
  }
  if (decoded.includes('\0')) throw invalid('the query holds NUL')
  return decoded
}

const invalid = (what: string) => new ProblemError('invalid-parameter', `The request cannot be verified: ${what}.`)

const ambiguous = (what: string) =>
  new ProblemError('ambiguous-parameter', `Two different requests would have this signature: ${what}.`)
