/**
 * HTTP Digest (RFC 7616), with SHA-256 and qop=auth alone, against a secret of the user's own that is not the password. Whatever is wrong
 * gets the same answer; a right response with a nonce that is no longer good is told apart, so that its client tries again by itself.
 */
import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { Refused } from '../errors.ts'
import type { HttpCall } from '../http/call.ts'
import type { Guesses } from '../limits/guesses.ts'
import type { OfUser } from '../principals/held-credentials.ts'
import type { DigestCounts } from './digest-counts.ts'
import { type DigestCredential, parseDigestCredential } from './digest-credential.ts'
import type { DigestNonce, DigestNonces } from './digest-nonce.ts'
import { digestHa1, digestResponse } from './digest-response.ts'
import { type AnswerHeaders, authorizationOf, isOfScript, realm, type Scheme } from './scheme.ts'

/** What is known of a user's Digest secret. */
export interface DigestSecret extends OfUser {
  /** H(A1), hexadecimal. */
  readonly ha1: string
}

export interface DigestPorts {
  /** The secret of the user spelt exactly so, or of this hash; undefined when there is none. @throws Unavailable */
  find(user: DigestCredential['user']): Promise<DigestSecret | undefined>
  readonly nonces: DigestNonces
  readonly counts: DigestCounts
  readonly guesses: Guesses
  readonly clock: Clock
  /** The origin under which clients see this server: `uri` may be absolute. */
  readonly origin: string
}

/** A nonce that expires so soon, in milliseconds, is followed by another one. */
const nextNonceBeforeMs = 30_000

const opaque = 'keyhold'

/** In place of the secret that a user lacks. */
const strangersHa1 = digestHa1('', 'nobody has this secret')

/** `Authorization: Digest …` */
export function createDigestScheme(ports: DigestPorts): Scheme {
  const challenge = (isStale = false): string =>
    `Digest realm="${realm}", qop="auth", algorithm=SHA-256, nonce="${ports.nonces.issue()}", opaque="${opaque}", ` +
    `charset=UTF-8, userhash=true${isStale ? ', stale=true' : ''}`
  const headersOf = (call: HttpCall, isStale = false): AnswerHeaders =>
    isOfScript(call) ? {} : { 'www-authenticate': [challenge(isStale)] }
  return {
    name: 'digest',
    isSentByBrowsers: true,
    challenge: () => challenge(),
    refusalHeaders: (call) => headersOf(call),
    find: (call) => authorizationOf(call, 'digest'),
    verify: async (text, call) => {
      const credential = parseDigestCredential(text)
      const nonce = credential && fits(credential, call, ports.origin) ? ports.nonces.read(credential.nonce) : undefined
      const secret = credential && nonce ? await prove(credential, call, ports) : undefined
      if (!credential || !nonce || !secret) throw wrong(headersOf(call))
      await useNonce(ports, { nonce, credential, headersOf: (isStale) => headersOf(call, isStale) })
      call.addAnswerHeader('Authentication-Info', authenticationInfo(secret, { credential, nonce }, ports))
      const recheck = async () => {
        if ((await ports.find(credential.user))?.ha1 !== secret.ha1) throw wrong({})
      }
      return { username: secret.username, generation: undefined, loginId: undefined, expiresAt: undefined, recheck }
    },
  }
}

/** The credential is one for this request and this challenge (RFC 7616 §3.4.6). */
function fits(credential: DigestCredential, call: HttpCall, origin: string): boolean {
  const target = call.rawQuery === '' ? call.path : `${call.path}?${call.rawQuery}`
  const { uri } = credential
  // A question mark with nothing behind it is not told from none.
  const written = call.rawQuery === '' && uri.endsWith('?') ? uri.slice(0, -1) : uri
  const isOfTarget = written === target || written === origin + target
  return isOfTarget && credential.realm === realm && (credential.opaque ?? opaque) === opaque
}

/** The secret, if the response was made with it. Everybody without one takes as long. @throws Refused `too-many-attempts` */
async function prove(credential: DigestCredential, call: HttpCall, { find, guesses }: DigestPorts) {
  const secret = await find(credential.user)
  const presented = 'username' in credential.user ? credential.user.username : undefined
  const account = secret?.username ?? (presented === undefined || presented.length > 64 ? undefined : presented)
  return guesses.attempt({ account, address: call.peer.address }, async () => {
    const expected = digestResponse(secret?.ha1 ?? strangersHa1, { ...credential, method: call.method })
    const isRight = timingSafeEqual(Buffer.from(expected), Buffer.from(credential.response))
    return isRight ? secret : undefined
  })
}

interface NonceUse {
  readonly nonce: DigestNonce
  readonly credential: DigestCredential
  headersOf(isStale: boolean): AnswerHeaders
}

/** @throws Refused `stale-nonce`, `invalid-credentials`; Unavailable */
async function useNonce({ counts, clock }: DigestPorts, { nonce, credential, headersOf }: NonceUse) {
  const count = Number.parseInt(credential.nc, 16)
  const verdict = nonce.expiresAt <= clock.now() ? 'stale' : await counts.use(nonce, count)
  if (verdict === 'refused') throw wrong(headersOf(false))
  if (verdict !== 'stale') return
  throw new Refused('stale-nonce', 'The nonce has expired; sign the request with the new one.', {
    headers: headersOf(true),
  })
}

/** RFC 7616 §3.5: proves to the client that the server knows the secret, and replaces a nonce in time. */
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

const wrong = (headers: AnswerHeaders) =>
  new Refused('invalid-credentials', 'The Digest response is not right for this request.', { headers })
