/**
 * The scheme `digest`: HTTP Digest (RFC 7616) with SHA-256 and qop=auth only, against a secret of the user that is not
 * the password. Every failure gets the same refusal, with one exception: a right response with a nonce that is no
 * longer good is `stale-nonce`, so that its client tries again by itself.
 */
import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../../platform/clock.ts'
import type { HttpRequest } from '../../../platform/http/request.ts'
import { ProblemError } from '../../../platform/problems/errors.ts'
import type { Traced } from '../../../platform/trace-context.ts'
import type { OfUser } from '../credential-cache.ts'
import type { Attempt, LoginThrottle } from '../login-throttle.ts'
import { isOfScript, type ResponseHeaders, realm, type Scheme } from '../scheme.ts'
import type { CountVerdict, DigestCounts } from './digest-counts.ts'
import { type DigestCredential, parseDigestCredential } from './digest-credential.ts'
import type { DigestNonce, DigestNonces } from './digest-nonce.ts'
import { digestHa1, digestResponse } from './digest-response.ts'

/** The Digest secret of a user. */
export interface DigestSecret extends OfUser {
  /** H(A1), hexadecimal. */
  readonly ha1: string
}

/** The secrets, nonces, counts and limits of the scheme. */
export interface DigestPorts {
  /**
   * The cached secret, if the user's principal record allows it: no store is asked. Absent on a server without a cache.
   * @throws Unavailable
   */
  held?(
    user: DigestCredential['user'],
    traceContext?: Traced,
  ): DigestSecret | undefined | Promise<DigestSecret | undefined>
  /**
   * The secret of the user with exactly this name or this hash, from the store; undefined when there is none.
   * @throws Unavailable
   */
  find(user: DigestCredential['user'], traceContext?: Traced): Promise<DigestSecret | undefined>
  readonly nonces: DigestNonces
  readonly counts: DigestCounts
  readonly loginThrottle: Pick<LoginThrottle, 'judge'>
  readonly clock: Clock
  /** The public origin of this server: `uri` may be absolute. */
  readonly origin: string
}

/** A response carries the next nonce when the present one expires within this time, in milliseconds. */
const nextNonceBeforeMs = 30_000

const opaque = 'keyhold'

/** Dummy H(A1) for users without a secret, so that their refusal takes the same time. */
const dummyHa1 = digestHa1('', 'nobody has this secret')

/** Reads `Authorization: Digest …`. */
export function createDigestScheme(ports: DigestPorts): Scheme {
  const challenged = challengedScheme(ports.nonces)
  const headersOf = challenged.refusalHeaders
  return {
    ...challenged,
    verify: async (text, request) => {
      const credential = parseDigestCredential(text)
      const nonce =
        credential && fits(credential, request, request.foreignOrigin ?? ports.origin)
          ? ports.nonces.read(credential.nonce)
          : undefined
      const stale = () => staleNonce(headersOf(request, true))
      const secret = credential && nonce ? await prove({ credential, nonce, request }, ports, stale) : undefined
      if (!credential || !nonce || !secret) throw wrongResponse(headersOf(request))
      request.addResponseHeader('Authentication-Info', authenticationInfo(secret, { credential, nonce }, ports))
      const recheck = async () => {
        const known = (await ports.held?.(credential.user, request)) ?? (await ports.find(credential.user, request))
        if (known?.ha1 !== secret.ha1) throw wrongResponse({})
      }
      return {
        username: secret.username,
        generation: undefined,
        loginId: undefined,
        audience: undefined,
        expiresAt: undefined,
        recheck,
      }
    },
  }
}

/** The scheme without its verification: where its credential is, and the challenges with nonces of these. */
export function challengedScheme(nonces: Pick<DigestNonces, 'issue'>) {
  const challenge = (isStale = false): string =>
    `Digest realm="${realm}", qop="auth", algorithm=SHA-256, nonce="${nonces.issue()}", opaque="${opaque}", ` +
    `charset=UTF-8, userhash=true${isStale ? ', stale=true' : ''}`
  return {
    name: 'digest',
    isSentByBrowsers: true,
    challenge: () => challenge(),
    // A script gets the nonce where no browser opens a dialog for it.
    refusalHeaders: (request: HttpRequest, isStale = false): ResponseHeaders =>
      isOfScript(request)
        ? { 'authentication-info': [`nextnonce="${nonces.issue()}"`] }
        : { 'www-authenticate': [challenge(isStale)] },
    place: { authorization: 'digest' },
  } as const satisfies Omit<Scheme, 'verify'>
}

/** True when the credential is for this request and for a challenge of this server (RFC 7616 §3.4.6). */
function fits(credential: DigestCredential, request: HttpRequest, origin: string): boolean {
  const target = request.rawQuery === '' ? request.path : `${request.path}?${request.rawQuery}`
  const { uri } = credential
  // A question mark with nothing after it cannot be distinguished from none.
  const written = request.rawQuery === '' && uri.endsWith('?') ? uri.slice(0, -1) : uri
  const isOfTarget = written === target || written === origin + target
  return isOfTarget && credential.realm === realm && (credential.opaque ?? opaque) === opaque
}

interface DigestAttempt {
  readonly credential: DigestCredential
  readonly nonce: DigestNonce
  readonly request: HttpRequest
}

/**
 * The secret, if the response was made with it. A right response uses its count of the nonce even if it is refused
 * after too many wrong ones: its client has to go on to the next count in any case.
 *
 * A wrong response does not show which users exist. A cached secret counts only when the response is right, so every
 * wrong response asks the store. All failures count for the user as sent, by name or by hash.
 * @throws ProblemError `too-many-attempts`, `stale-nonce`; Unavailable
 */
async function prove(attempt: DigestAttempt, ports: DigestPorts, refuseStale: () => ProblemError) {
  const { credential, request } = attempt
  const held = ports.held?.(credential.user, request)
  let secret = held instanceof Promise ? await held : held
  if (!isRight(secret, attempt)) {
    secret = await ports.find(credential.user, request)
    if (!isRight(secret, attempt)) {
      await ports.loginThrottle.judge(attemptOf(attempt, secret), false)
      return undefined
    }
  }
  const judging = ports.loginThrottle.judge(attemptOf(attempt, secret), true)
  const [verdict] = await Promise.all([useNonce(attempt, ports), judging])
  if (verdict === 'stale') throw refuseStale()
  return verdict === 'used' ? secret : undefined
}

/** Compares the response. It takes the same time without a secret. */
function isRight(secret: DigestSecret | undefined, { credential, request }: DigestAttempt): secret is DigestSecret {
  const expected = digestResponse(secret?.ha1 ?? dummyHa1, { ...credential, method: request.method })
  return timingSafeEqual(Buffer.from(expected), Buffer.from(credential.response)) && secret !== undefined
}

/**
 * The attempt for the limits. Attempts by hash count under the hash: the name is known only if such a user exists. The
 * secret is too long to be guessed even with twice the attempts.
 */
function attemptOf({ credential: { user }, request }: DigestAttempt, secret: DigestSecret | undefined): Attempt {
  const [name, countedAs] = 'username' in user ? [user.username, user.username] : [undefined, user.userhash]
  return { account: secret?.username ?? name, countedAs, secret: 'digest', address: request.peer.address }
}

/** @throws Unavailable */
async function useNonce({ nonce, credential }: DigestAttempt, { counts, clock }: DigestPorts): Promise<CountVerdict> {
  return nonce.expiresAt <= clock.now() ? 'stale' : counts.use(nonce, Number.parseInt(credential.nc, 16))
}

/**
 * The value of `Authentication-Info` (RFC 7616 §3.5): proves that the server knows the secret, and replaces a nonce
 * that expires soon.
 */
function authenticationInfo(
  { ha1 }: DigestSecret,
  { credential, nonce }: { credential: DigestCredential; nonce: DigestNonce },
  { nonces, clock }: DigestPorts,
): string {
  const { nc, cnonce } = credential
  const rspauth = digestResponse(ha1, { ...credential, method: '' })
  const quotedCnonce = cnonce.replace(/["\\]/g, '\\$&')
  const info = `rspauth="${rspauth}", qop=auth, cnonce="${quotedCnonce}", nc=${nc}`
  const isLate = nonce.expiresAt - clock.now() < nextNonceBeforeMs
  return isLate ? `${info}, nextnonce="${nonces.issue()}"` : info
}

const staleNonce = (headers: ResponseHeaders) =>
  new ProblemError('stale-nonce', 'The nonce has expired; sign the request with the new one.', { headers })

/** The refusal of a response that is not right. */
export const wrongResponse = (headers: ResponseHeaders): ProblemError<'invalid-credentials'> =>
  new ProblemError(
    'invalid-credentials',
    'The Digest response is not right for this request. It is made by algorithm=SHA-256 alone (RFC 7616), not by MD5, ' +
      'and with the Digest secret, not with the password.',
    { headers },
  )
