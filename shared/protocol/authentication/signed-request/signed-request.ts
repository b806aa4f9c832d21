/**
 * The scheme `signed-request` (docs/contract/callers.md#signed-request): `?timestamp=…&apiKey=…&signature=…`, or HTTP
 * Message Signatures (RFC 9421) with the same keys. An unknown, revoked or expired key and a wrong signature get the
 * same refusal after the same time.
 */

import { createHash } from 'node:crypto'
import { type Clock, unixSeconds } from '../../../platform/clock.ts'
import type { HttpRequest } from '../../../platform/http/request.ts'
import { ProblemError } from '../../../platform/problems/errors.ts'
import type { Traced } from '../../../platform/trace-context.ts'
import { clockToleranceSeconds } from '../../clock-tolerance.ts'
import { isSafeMethod, type RequestSignature, type Scheme, type VerifiedCredential } from '../scheme.ts'
import { lowerCase, maxSignatureTtlSeconds } from '../signature-parameters.ts'
import { readFieldSignature } from './field-signature.ts'
import { readQuerySignature } from './query-signature.ts'
import {
  audienceRequired,
  bodyHashRequired,
  hasBody,
  invalidSignature,
  methodRequired,
  type ReceivedSignature,
} from './request-signature.ts'
import { isSignedBy, type SigningKey } from './signing-key.ts'
import type { UseSignature } from './used-signatures.ts'

/** The keys, used signatures and settings of the scheme. */
export interface SignedRequestPorts {
  /** The key with this id; undefined when it does not exist, was revoked or has expired. @throws Unavailable */
  findKey(id: string, traceContext?: Traced): Promise<SigningKey | undefined>
  /** Called for every request with a right signature. It must neither wait nor throw. */
  noteUse(id: string): void
  readonly use: UseSignature
  /**
   * Has the auth server verify the signature, by a secret that only it has, and use it. What the signature says of the
   * body is true by then. Absent where every secret is here. @throws ProblemError; Unavailable
   */
  verifyElsewhere?(request: HttpRequest, received: ReceivedSignature): Promise<VerifiedCredential>
  readonly clock: Clock
  /** SIGNATURE_TTL: how far the time of a signature may be from now, either way, in seconds. */
  readonly ttlSeconds: number
  /** The public origin of this server. */
  readonly publicOrigin: string
  /** The audience of this server. */
  readonly audience: string
  /**
   * True for a service other than the pair: a signature must say which service it is for. Whoever receives one that
   * does not could use it once more at another service.
   */
  readonly demandsAudience?: boolean
}

const readers = { query: readQuerySignature, fields: readFieldSignature } as const

/** The scheme. */
export function createSignedRequestScheme(ports: SignedRequestPorts): Scheme {
  return {
    name: 'signed-request',
    isSentByBrowsers: false,
    challenge: () => undefined,
    refusalHeaders: () => ({}),
    place: { find: formOf },
    verify: async (form, request) => {
      try {
        return await verify(form === 'query' ? 'query' : 'fields', request, ports)
      } catch (error) {
        throw error instanceof ProblemError ? withServerTime(error, ports.clock) : error
      }
    },
  }
}

/**
 * The form of the signature. Any part of a signature makes a request a signed one. @throws ProblemError
 * `several-credentials`
 */
function formOf(request: HttpRequest): keyof typeof readers | undefined {
  const isInFields = request.header('signature-input') !== undefined || request.header('signature') !== undefined
  const isInQuery = carriesSignature(request)
  if (isInFields && isInQuery) {
    throw new ProblemError('several-credentials', 'Sign the request in its query or in its header fields, not in both.')
  }
  return isInQuery ? 'query' : isInFields ? 'fields' : undefined
}

function carriesSignature(request: HttpRequest): boolean {
  const { rawQuery } = request
  if (!mayHoldSignature.test(rawQuery)) return false
  if (plainSignature.test(rawQuery)) return true
  const names = [...request.query.keys()].map(lowerCase)
  return names.includes('signature') || names.includes('apikey')
}

/** Matches one of these names without any encoding, as nearly all clients write it. */
const plainSignature = /(?:^|&)(?:signature|apikey)(?:=|&|$)/i

/** Matches every spelling of these names. Other requests need this test only. */
const mayHoldSignature = /signature|apikey|%/i

/** Adds the time of the server to a refusal: a client with a wrong clock can correct it. */
function withServerTime(refused: ProblemError, clock: Clock): ProblemError {
  return new ProblemError(refused.code, refused.message, {
    members: { ...refused.members, serverTime: unixSeconds(clock.now()) },
    headers: refused.headers,
  })
}

async function verify(
  form: keyof typeof readers,
  request: HttpRequest,
  ports: SignedRequestPorts,
): Promise<VerifiedCredential> {
  const reading = readers[form](request, ports)
  const received = reading instanceof Promise ? await reading : reading
  requireTimely(received, ports)
  const key = await liveKey(received.keyId, ports, request)
  const { signed, signature: sent } = received
  const verifyElsewhere = key?.key === null ? ports.verifyElsewhere : undefined
  const isGenuine = verifyElsewhere || isSignedBy(key, { signed, signature: sent, now: ports.clock.now() })
  if (!key || !isGenuine || (received.kind !== undefined && received.kind !== key.kind)) {
    throw invalidSignature('there is no such API key, or it did not sign this request')
  }
  const claim = await received.falseClaim()
  if (claim !== undefined) throw invalidSignature(`${claim} is not that of the request`)
  const isElsewhere = ports.demandsAudience || request.foreignAudience !== undefined
  if (isElsewhere && !received.bindsAudience) throw audienceRequired()
  if (key.requireBodyHash && !isSafeMethod(request.method)) await requireBound(request, received)
  if (verifyElsewhere) return verifyElsewhere(request, received)
  const signature = isSafeMethod(request.method) ? undefined : await use(received, ports)
  ports.noteUse(key.id)
  return credentialOf(key, signature, { ports, request })
}

/** @throws ProblemError `signature-too-old`, `signature-from-future` */
function requireTimely({ signedAt, expiresAt }: ReceivedSignature, { clock, ttlSeconds }: SignedRequestPorts): void {
  const now = unixSeconds(clock.now())
  if (now - signedAt > ttlSeconds || (expiresAt !== undefined && now >= expiresAt)) {
    throw new ProblemError(
      'signature-too-old',
      'The request was signed too long ago. Sign it again, or set your clock right.',
    )
  }
  if (signedAt - now > ttlSeconds) {
    throw new ProblemError('signature-from-future', 'The request was signed in the future. Set your clock right.')
  }
}

async function liveKey(
  id: string,
  { findKey, clock }: SignedRequestPorts,
  traceContext: Traced,
): Promise<SigningKey | undefined> {
  const key = await findKey(id, traceContext)
  return key && (key.expiresAt === null || key.expiresAt > clock.now()) ? key : undefined
}

/**
 * Checks the demands of a key with `requireBodyHash`. Such a key also demands the method: with another method, the same
 * body would mean something else.
 * @throws ProblemError `body-hash-required`, `signature-method-required`
 */
async function requireBound(request: HttpRequest, { bindsBody, bindsMethod }: ReceivedSignature): Promise<void> {
  if (!bindsBody && (await hasBody(request))) throw bodyHashRequired({ bindsMethod })
  if (!bindsMethod) throw methodRequired()
}

async function use(
  { keyId, signature, signedAt }: ReceivedSignature,
  { use }: SignedRequestPorts,
): Promise<RequestSignature> {
  const digest = createHash('sha256').update(signature).digest('base64url')
  const usedAt = await use({
    keyId,
    digest,
    expiresAt: (signedAt + maxSignatureTtlSeconds + clockToleranceSeconds) * 1000,
  })
  return { digest, isReused: usedAt !== undefined, usedAt }
}

function credentialOf(
  key: SigningKey,
  signature: RequestSignature | undefined,
  { ports, request }: { ports: SignedRequestPorts; request: HttpRequest },
): VerifiedCredential {
  return {
    username: key.username,
    generation: undefined,
    loginId: key.id,
    audience: undefined,
    expiresAt: key.expiresAt ?? undefined,
    rights: key.rights ?? undefined,
    signature,
    recheck: async () => {
      if (await liveKey(key.id, ports, request)) return
      throw new ProblemError('login-ended', 'The API key of this request was revoked.')
    },
  }
}
