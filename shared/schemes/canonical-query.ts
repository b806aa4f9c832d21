/**
 * The string to sign of a signed request (CONTRACT section 4): made from what stood on the request line, never from what a framework made
 * of it, so that no two requests share one string.
 */
import { Refused } from '../errors.ts'

/** A parameter as it is signed. */
export interface SignedParameter {
  /** Decoded, ASCII letters in lower case. */
  readonly name: string
  /** Decoded. */
  readonly value: string
}

/** Parameters of the signature itself, as they are signed: each at most once. */
const single = new Set(['timestamp', 'apikey', 'signature', 'nonce', 'bodysha256', 'method'])

/** ASCII letters alone: no locale, no folding of other scripts. */
export const lowerCase = (text: string): string =>
  /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text

/**
 * The parameters of a query as on the request line (without `?`), in their order.
 * @throws Refused `invalid-parameter` for what is not well encoded, or given twice; `ambiguous-parameter`
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
    if (before !== undefined && single.has(name)) throw invalid(`the parameter ${name} is given twice`)
    if (before !== undefined && before !== decodedName) throw ambiguous('two names differ by the case of letters alone')
    spelled.set(name, decodedName)
    parameters.push({ name, value })
  }
  return parameters
}

/** The string that is signed: path, `?`, and the parameters without `signature`, sorted by the octets of name, then value. */
export function stringToSign(path: string, parameters: readonly SignedParameter[]): string {
  const signed = parameters
    .filter(({ name }) => name !== 'signature')
    .sort((a, b) => compareOctets(a.name, b.name) || compareOctets(a.value, b.value))
  return `${path}?${signed.map(({ name, value }) => `${name}=${value}`).join('&')}`
}

function compareOctets(a: string, b: string): number {
  if (isAscii.test(a) && isAscii.test(b)) return a < b ? -1 : Number(a > b)
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** Of these, the order of octets is that of characters. */
const isAscii = /^[ -~]*$/

/** A query without any encoding. */
const plain = /^[!"$&-*,-~]*$/
const asItStands = (text: string): string => text

// A byte order mark is a character like any other: without it, two parameters would look alike.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** `+` is a space; all else by RFC 3986 §2.1, strictly. */
function decodeText(text: string): string {
  if (!/^(?:[!"$&-~]|%[0-9A-Fa-f]{2})*$/.test(text)) throw invalid('the query is not well percent-encoded')
  const octets = text
    .replaceAll('+', ' ')
    .replace(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  let decoded: string
  try {
    decoded = utf8.decode(Buffer.from(octets, 'latin1'))
  } catch {
    throw invalid('the query is not UTF-8')
  }
  if (decoded.includes('\0')) throw invalid('the query holds NUL')
  return decoded
}

const invalid = (what: string) => new Refused('invalid-parameter', `The request cannot be verified: ${what}.`)

const ambiguous = (what: string) =>
  new Refused('ambiguous-parameter', `Two different requests would have this signature: ${what}.`)
