/** Reads credentials of HTTP Digest (RFC 7616 §3.4). */

/** A credential. Only SHA-256 with qop=auth is accepted. */
export interface DigestCredential {
  /** The user name, or its hash when the client sent `userhash=true`. */
  readonly user: { readonly username: string } | { readonly userhash: string }
  readonly realm: string
  readonly nonce: string
  readonly uri: string
  readonly nc: string
  readonly cnonce: string
  /** Lower case. */
  readonly response: string
  readonly opaque: string | undefined
}

/** The value of a parameter, and whether it was quoted. */
interface Value {
  readonly text: string
  readonly quoted: boolean
}

const maxLength = 8192
const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
/** Characters of a quoted string without and after a backslash (RFC 9110 §5.6.4). */
const plain = '[^"\\\\\\x00-\\x08\\x0a-\\x1f\\x7f]*'
const escaped = '\\\\[^\\x00-\\x08\\x0a-\\x1f\\x7f]'
/**
 * A name, `=`, a token or a quoted string, and a comma or the end, with optional blanks. Empty list elements are
 * allowed.
 */
const parameter = new RegExp(
  `[ \\t,]*(${token})[ \\t]*=[ \\t]*(?:(${token})|"(${plain}(?:${escaped}${plain})*)")[ \\t]*(?:,[ \\t,]*$|,|$)`,
  'y',
)

/**
 * The parameters by name in lower case; undefined for a text that is not a list of parameters (RFC 9110 §5.6.1.2), or
 * that has one twice (§11.2).
 */
function readParameters(text: string): Map<string, Value> | undefined {
  if (text.length > maxLength) return undefined
  const parameters = new Map<string, Value>()
  parameter.lastIndex = 0
  for (;;) {
    const match = parameter.exec(text)
    if (!match) return undefined
    const [, name = '', bare, quoted] = match
    const key = name.toLowerCase()
    if (parameters.has(key)) return undefined
    const value = bare === undefined ? { text: unquote(quoted ?? ''), quoted: true } : { text: bare, quoted: false }
    parameters.set(key, value)
    if (parameter.lastIndex === text.length) return parameters
  }
}

/** Removes the backslashes of quoted pairs (RFC 9110 §5.6.4). */
const unquote = (text: string): string => (text.includes('\\') ? text.replace(/\\(.)/gs, '$1') : text)

/**
 * The credential in the text after the scheme's name. Undefined for any other text: other algorithms and qualities of
 * protection, missing or repeated parameters, and quotes where the RFC has none. Quotes around `algorithm` and `qop`
 * are accepted, because python-requests writes them.
 */
export function parseDigestCredential(text: string): DigestCredential | undefined {
  const parameters = readParameters(text)
  if (!parameters) return undefined
  const quoted = (name: string) => textOf(parameters.get(name), true)
  const bare = (name: string) => textOf(parameters.get(name), false)
  const [realm, nonce, uri, cnonce, response] = ['realm', 'nonce', 'uri', 'cnonce', 'response'].map(quoted)
  const nc = bare('nc')
  const user = userOf(parameters)
  if (realm === undefined || nonce === undefined || uri === undefined || cnonce === undefined) return undefined
  if (user === undefined || nc === undefined || response === undefined) return undefined
  if (parameters.get('algorithm')?.text.toUpperCase() !== 'SHA-256') return undefined
  if (parameters.get('qop')?.text.toLowerCase() !== 'auth') return undefined
  if (!/^[0-9a-f]{8}$/i.test(nc) || nc === '00000000' || !/^[0-9a-f]{64}$/i.test(response)) return undefined
  if (cnonce === '' || cnonce.length > 512) return undefined
  if (parameters.has('opaque') && quoted('opaque') === undefined) return undefined
  return { user, realm, nonce, uri, nc, cnonce, response: response.toLowerCase(), opaque: quoted('opaque') }
}

const textOf = (value: Value | undefined, isQuoted: boolean): string | undefined =>
  value?.quoted === isQuoted ? value.text : undefined

/**
 * The user, from `username`, hashed or not, or from `username*` (RFC 8187), but not both. `userhash=true` marks a hash.
 */
function userOf(parameters: Map<string, Value>): DigestCredential['user'] | undefined {
  const username = textOf(parameters.get('username'), true)
  const extended = textOf(parameters.get('username*'), false)
  const userhash = parameters.has('userhash') ? textOf(parameters.get('userhash'), false)?.toLowerCase() : 'false'
  if (userhash !== 'true' && userhash !== 'false') return undefined
  const isHashed = userhash === 'true'
  if (parameters.has('username*')) {
    const decoded = extended === undefined ? undefined : decodeExtended(extended)
    return parameters.has('username') || isHashed || decoded === undefined ? undefined : { username: decoded }
  }
  if (username === undefined) return undefined
  if (!isHashed) return { username }
  return /^[0-9a-f]{64}$/i.test(username) ? { userhash: username.toLowerCase() } : undefined
}

/** Decodes `UTF-8''` and percent-encoded octets (RFC 8187 §3.2). */
function decodeExtended(text: string): string | undefined {
  const [, encoded] = /^utf-8'[A-Za-z0-9-]*'([!#$&+.^_`|~0-9A-Za-z%-]*)$/i.exec(text) ?? []
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}
