/** Redirect URIs of clients (RFC 6749 §3.1.2, RFC 8252, RFC 9700 §2.1). Pure. */

/** A confidential client can keep a secret; a public one, such as an application in a browser, cannot. */
export type ClientKind = 'public' | 'confidential'

/** A problem of a URI. */
interface UriProblem {
  readonly code: 'redirect-form' | 'redirect-scheme'
  readonly message: string
}

/** The characters of a host that mean nothing else in a policy of a page, which names it. */
const plainHost = /^([a-z0-9._-]+|\[[0-9a-f:]+\])$/

/** Parameters of the answer (RFC 6749 §4.1.2, RFC 9207), which two readers could take from another place. */
const ofAnswers = ['code', 'state', 'iss', 'error']

const loopbackAddresses: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]'])

/**
 * The problem of a URI that is to be registered; undefined when there is none. A browser must send people to nothing
 * else than the text says: it has no fragment, no user info, no wildcard, and a URL parser leaves it as it is.
 */
export function redirectUriProblem(uri: string, kind: ClientKind): UriProblem | undefined {
  const url = /^[\x21-\x7e]+$/.test(uri) && !/[\\*#]/.test(uri) && URL.canParse(uri) ? new URL(uri) : undefined
  const isOfWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (
    !url ||
    !isWritten(url, uri) ||
    url.username !== '' ||
    url.password !== '' ||
    (isOfWeb && !plainHost.test(url.hostname))
  )
    return { code: 'redirect-form', message: 'must be an absolute URL without fragment, user info and wildcard' }
  if (ofAnswers.some((name) => url.searchParams.has(name)))
    return { code: 'redirect-form', message: `must have no parameter ${ofAnswers.join(', ')}: the answer has them` }
  const isLoopback = loopbackAddresses.has(url.hostname) || url.hostname === 'localhost'
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback)) return undefined
  if (kind === 'public' && /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(url.protocol)) return undefined
  const message =
    'must begin with https:, or with http: and a loopback address; of a public client also with com.example:'
  return { code: 'redirect-scheme', message }
}

/** Where a redirect leads, for people: an origin, or the scheme of an application's own. */
export function targetOf(uri: string): string {
  const { origin, protocol } = new URL(uri)
  return origin === 'null' ? protocol : origin
}

/** True when a URL parser changes nothing but the `/` of an empty path. */
const isWritten = ({ href, pathname, search }: URL, text: string): boolean =>
  href === text || (pathname === '/' && search === '' && href === `${text}/`)

/**
 * The registered URI that a request names, character by character (RFC 9700 §2.1). One on a loopback address without a
 * port is good with any port (RFC 8252 §7.3). Undefined when none is named.
 */
export function registeredUri(registered: readonly string[], sent: string): string | undefined {
  if (registered.includes(sent)) return sent
  const [, scheme, address = '', rest = ''] =
    /^(http:\/\/)(127\.0\.0\.1|\[::1\]):[1-9]\d{0,4}(\/[^\s]*)?$/.exec(sent) ?? []
  if (scheme === undefined || !URL.canParse(sent)) return undefined
  return registered.includes(`${scheme}${address}${rest}`) ? sent : undefined
}
