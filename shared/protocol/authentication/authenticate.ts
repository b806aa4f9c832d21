/**
 * From a request to a caller: finds the one credential, verifies it, then lets the principal record decide. There is no
 * fall-through: a bad credential is an error even if another one would do (docs/contract/callers.md#one-credential).
 * Without a record, the request is refused.
 */
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import type { HttpRequest } from '../../platform/http/request.ts'
import { ProblemError, Unavailable } from '../../platform/problems/errors.ts'
import type { Traced } from '../../platform/trace-context.ts'
import { isAnonymous, needsSecondFactor, type PrincipalRecord } from '../principal/record.ts'
import { type Audience, isAudience } from './audience.ts'
import type { RefuseCrossSite } from './cross-site.ts'
import { areSeveral, createFinder, type Found, type RequestCredentials } from './find-credentials.ts'
import { falseClaim } from './request-claims.ts'
import {
  isOfScript,
  type ResponseHeaders,
  realm,
  type Scheme,
  type SchemeName,
  type VerifiedCredential,
} from './scheme.ts'

/** The caller of a request. */
export interface Caller {
  /** As created; a credential may spell it with other capitals. */
  readonly username: string
  readonly userId: string
  /** Those of the user: a credential may exclude rights that they give. */
  readonly roles: readonly string[]
  /** The rights in the record that the credential does not exclude. */
  readonly rights: ReadonlySet<string>
  readonly scheme: SchemeName
  readonly credential: VerifiedCredential
  /** The credential generation in the record. */
  readonly generation: number
  /** True when the commands of its application wait for approval. */
  readonly proposes: boolean
}

/** The source of principal records. */
export interface Principals {
  /** The record, or undefined when there is no such user. @throws Unavailable when neither can be determined */
  get(username: string, traceContext?: Traced): Promise<PrincipalRecord | undefined> | PrincipalRecord | undefined
  /**
   * Calls `listener` whenever the auth database was replaced by another one, so that everything known before is
   * useless. Absent where that cannot happen.
   */
  onOtherInstance?(listener: () => void): void
}

/** Accepts credentials for the audience `also`, too. @throws ProblemError with the challenges; Unavailable */
export type Authenticate = (request: HttpRequest, also?: Audience) => Promise<Caller>

/**
 * Checks the caller again during a long response. Gives the caller with its current rights.
 * @throws ProblemError when the credential has expired or was revoked; Unavailable
 */
export type Recheck = (caller: Caller) => Promise<Caller>

/** The dependencies of authentication. */
export interface AuthenticationPorts {
  /** The enabled schemes. */
  readonly schemes: readonly Scheme[]
  /** The audience of this server: a credential for another one is refused. */
  readonly audience: Audience
  readonly principals: Principals
  readonly refuseCrossSite: RefuseCrossSite
  readonly clock: Clock
  /**
   * The names that the parameter `audience` may have in a request that is not signed: those of this server. Absent
   * where a parameter of this name may mean something else.
   */
  readonly audienceClaims?: readonly string[]
  /** True: accept reused signatures, for a pipeline that responds to them only with a stored command. */
  readonly handsOnReusedSignatures?: boolean
  /** Called with every outcome: `accepted`, `unavailable`, or the code of the refusal. */
  readonly observe?: (scheme: SchemeName | 'none', outcome: string) => void
}

/** The unverified credentials of a request, for routes with a credential of their own in the path. */
export interface UnverifiedCredentials {
  readonly schemes: readonly SchemeName[]
  /** True for an `Authorization` field of a scheme that is not served. */
  readonly isForeign: boolean
  /** The refusal of several credentials. It makes a browser forget a session cookie that is no longer valid. */
  refuseSeveral(): Promise<ProblemError<'several-credentials'>>
}

/** The authentication of a server. */
export interface Authentication {
  readonly authenticate: Authenticate
  readonly recheck: Recheck
  /** The unverified credentials of a request. @throws ProblemError for a credential that is not well-formed */
  readonly findCredentials: (request: HttpRequest) => UnverifiedCredentials
  /** For what a browser sends without a credential too. */
  readonly refuseCrossSite: RefuseCrossSite
}

/** The authentication of a server. */
export function createAuthentication(ports: AuthenticationPorts): Authentication {
  const { principals, clock, observe = () => undefined } = ports
  const find = createFinder(ports.schemes)
  return {
    refuseCrossSite: ports.refuseCrossSite,
    authenticate: async (request, also) => {
      let tried: SchemeName | 'none' = 'none'
      try {
        const received = find(request)
        if (areSeveral(request, received)) throw await refuseSeveral(received.found, request, principals)
        const { scheme, credential } = requireOne(received, request, ports.schemes)
        tried = scheme.name
        // Results that are known already are not awaited: each await would cost more than most of these steps.
        const verifying = scheme.verify(credential, request)
        const verified = verifying instanceof Promise ? await verifying : verifying
        if (!isForAudience(verified, ports.audience) && !(also && isForAudience(verified, also)))
          throw wrongAudience(ports.audience, scheme.refusalHeaders(request))
        if (tried !== 'signed-request' && request.rawQuery !== '' && request.foreignOrigin === undefined)
          await refuseFalseClaims(request, ports.audienceClaims)
        const looking = principals.get(verified.username, request)
        const record = requireLive(looking instanceof Promise ? await looking : looking, verified, scheme, request)
        requireFactorOf(record, tried)
        if (scheme.isSentByBrowsers) ports.refuseCrossSite(request)
        if (verified.signature?.isReused && !ports.handsOnReusedSignatures) throw signatureUsed(clock)
        observe(tried, 'accepted')
        const caller = callerOf(record, verified, tried)
        request.caller = caller
        return caller
      } catch (error) {
        observe(tried, error instanceof ProblemError ? error.code : 'unavailable')
        throw error
      }
    },
    recheck: async ({ credential, scheme, userId }) => {
      if (credential.expiresAt !== undefined && credential.expiresAt <= clock.now()) {
        throw new ProblemError('token-expired', 'The credential has expired.')
      }
      const record = requireLive(await principals.get(credential.username), credential)
      requireFactorOf(record, scheme)
      if (record.userId !== userId)
        throw new ProblemError('principal-disabled', 'The user of this credential was deleted.')
      await credential.recheck?.()
      return callerOf(record, credential, scheme)
    },
    findCredentials: (request) => {
      const { found, isForeign } = find(request)
      return {
        schemes: found.map(({ scheme }) => scheme.name),
        isForeign,
        refuseSeveral: () => refuseSeveral(found, request, principals),
      }
    },
  }
}

/** @throws ProblemError `unknown-scheme`, `unauthenticated` */
function requireOne({ found, isForeign }: RequestCredentials, request: HttpRequest, schemes: readonly Scheme[]): Found {
  const [only] = found
  if (only) return only
  if (isForeign)
    throw refuse('unknown-scheme', 'The Authorization header is of no scheme served here.', { schemes, request })
  throw refuse('unauthenticated', 'The request carries no credential.', { schemes, request })
}

const isForAudience = ({ audience }: VerifiedCredential, own: Audience): boolean =>
  audience === undefined || isAudience(own, audience)

/**
 * The refusal of a credential for another audience, with the challenge of its scheme. A session for another audience is
 * good at another service of this host, so no browser is made to forget its cookie.
 */
const wrongAudience = ({ name }: Audience, { 'www-authenticate': challenge }: ResponseHeaders) =>
  new ProblemError('wrong-audience', `The credential is for another audience than ${name}.`, {
    headers: challenge === undefined ? {} : { 'www-authenticate': challenge },
  })

/**
 * Claims of a request about itself must be true even if it is not signed. Parameters of another service may have the
 * same names and another meaning. @throws ProblemError `invalid-parameter`
 */
async function refuseFalseClaims(request: HttpRequest, audiences: readonly string[] | undefined): Promise<void> {
  const name = await falseClaim(request, audiences)
  if (name !== undefined)
    throw new ProblemError('invalid-parameter', `The parameter ${name} is not true of this request.`)
}

/** The refusal of a signature that was used before. */
export const signatureUsed = (clock: Clock): ProblemError<'signature-used'> =>
  new ProblemError('signature-used', 'A signature of an unsafe request works once; sign the request again.', {
    members: { serverTime: unixSeconds(clock.now()) },
  })

async function refuseSeveral(
  found: readonly Found[],
  request: HttpRequest,
  principals: Principals,
): Promise<ProblemError<'several-credentials'>> {
  const headers: Record<string, string | readonly string[]> = {}
  for (const { scheme, credential } of found) {
    if (!scheme.isForgottenAmongSeveral) continue
    Object.assign(headers, await headersUnlessValid({ scheme, credential }, request, principals))
  }
  const detail = 'Send exactly one credential; several are refused, even if one of them is valid.'
  return new ProblemError('several-credentials', detail, { headers })
}

/**
 * The header fields that the refusal of this credential alone would have; none when it is valid, or when that cannot be
 * determined.
 */
async function headersUnlessValid(
  { scheme, credential }: Found,
  request: HttpRequest,
  principals: Principals,
): Promise<ResponseHeaders> {
  try {
    const verified = await scheme.verify(credential, request)
    requireLive(await principals.get(verified.username, request), verified, scheme, request)
    return {}
  } catch (error) {
    if (error instanceof Unavailable) return {}
    if (!(error instanceof ProblemError)) throw error
    const { 'set-cookie': expired } = error.headers
    return expired === undefined ? {} : { 'set-cookie': expired }
  }
}

/** The order of challenges: clients use the first one that they know (docs/contract/callers.md#challenges). */
const challengeOrder: readonly SchemeName[] = ['bearer', 'key-signed', 'digest', 'basic']

/** Browsers open a dialog for these challenges. */
const dialogSchemes: readonly SchemeName[] = ['digest', 'basic']

/** A 401 with one challenge line for each served scheme; `routes.ts` adds the member `schemes`. */
function refuse(
  code: 'unknown-scheme' | 'unauthenticated',
  detail: string,
  { schemes, request }: { schemes: readonly Scheme[]; request: HttpRequest },
) {
  const challenges = challengeOrder
    .filter((name) => !isOfScript(request) || !dialogSchemes.includes(name))
    .flatMap((name) => schemes.find((scheme) => scheme.name === name)?.challenge(request) ?? [])
  return new ProblemError(code, detail, { headers: challenges.length === 0 ? {} : { 'www-authenticate': challenges } })
}

/** The parts of a credential by which a record may refuse it. */
type RevocableCredential = Pick<VerifiedCredential, 'generation' | 'loginId' | 'tokenId' | 'clientId'>

interface Refusal {
  readonly code: 'principal-disabled' | 'login-ended'
  readonly detail: string
}

/**
 * The reason why a record refuses a credential: a disabled or unknown user, another generation, a deleted client, a
 * revoked login.
 * Undefined for a valid credential.
 */
export function refusalOf(record: PrincipalRecord, credential: RevocableCredential): Refusal | undefined {
  const { generation, loginId, tokenId, clientId } = credential
  if (!record.enabled) return unknownUser
  if (generation !== undefined && generation !== generationOf(record, loginId)) return otherGeneration
  if (clientId !== undefined && record.endedClients?.includes(clientId)) return endedLogin
  const ids = record.revokedIds
  const hasEnded = (id: string | undefined) => id !== undefined && ids.includes(id)
  return ids.length > 0 && (hasEnded(loginId) || hasEnded(tokenId)) ? endedLogin : undefined
}

const unknownUser: Refusal = {
  code: 'principal-disabled',
  detail: 'The user of this credential is disabled or does not exist.',
}
const otherGeneration: Refusal = {
  code: 'login-ended',
  detail: 'Every credential made before the last password change or logout everywhere has ended.',
}
const endedLogin: Refusal = { code: 'login-ended', detail: 'The login this credential belongs to has ended.' }

/**
 * @throws ProblemError `api-key-suspended`; `principal-disabled`, `login-ended`, with the header fields that the scheme
 *   adds to its refusals
 */
function requireLive(
  record: PrincipalRecord | undefined,
  credential: VerifiedCredential,
  scheme?: Scheme,
  request?: HttpRequest,
): PrincipalRecord {
  const refusal = record ? refusalOf(record, credential) : unknownUser
  if (record && !refusal) return record
  if (record && refusal === endedLogin && scheme?.name === 'signed-request' && needsSecondFactor(record))
    throw suspended()
  const { code, detail } = refusal ?? unknownUser
  throw new ProblemError(code, detail, { headers: scheme && request ? scheme.refusalHeaders(request) : {} })
}

/** The record of a user who needs a factor has the ids of keys that were made without one. */
const suspended = () =>
  new ProblemError('api-key-suspended', 'This key was made without a second factor. Its owner must confirm it.')

/** The schemes whose credentials prove a password or one secret alone, at each request. */
const schemesWithoutFactor: ReadonlySet<SchemeName> = new Set(['basic', 'digest', 'key-signed'])

/** True when the user needs a second factor and this scheme carries none. */
export const lacksSecondFactor = (record: PrincipalRecord, scheme: SchemeName): boolean =>
  record.revokedIds.length > 0 && schemesWithoutFactor.has(scheme) && needsSecondFactor(record)

/**
 * Refuses schemes that cannot carry a second factor, for principals that need one. A login without a factor is
 * among the revoked ids of such a principal. So does a key that was made without one.
 * @throws ProblemError `scheme-without-second-factor`
 */
function requireFactorOf(record: PrincipalRecord, scheme: SchemeName): void {
  if (!lacksSecondFactor(record, scheme)) return
  throw new ProblemError(
    'scheme-without-second-factor',
    'This user needs a second factor, which this scheme cannot carry. Use a token or a session of a login with one.',
  )
}

const generationOf = ({ generation, keptLogin }: PrincipalRecord, loginId: string | undefined): number =>
  keptLogin !== null && keptLogin.id === loginId ? keptLogin.generation : generation

/** The effective rights of each record as a set, computed once. */
const rightsOf = new WeakMap<PrincipalRecord, ReadonlySet<string>>()

function callerOf(record: PrincipalRecord, verified: VerifiedCredential, scheme: SchemeName): Caller {
  let rights = rightsOf.get(record)
  if (!rights) {
    rights = new Set(record.rights)
    rightsOf.set(record, rights)
  }
  const { username, userId, roles, generation } = record
  const { clientId } = verified
  const proposes = clientId !== undefined && record.proposingClients?.includes(clientId) === true
  const credential = proposes ? proposing(verified, rights) : verified
  return {
    username,
    userId,
    roles,
    rights: narrowed(rights, credential.rights),
    scheme,
    credential,
    generation,
    proposes,
  }
}

/** Who has one of these makes credentials, users and clients. */
const makesCredentials: ReadonlySet<string> = new Set([
  'user.manage',
  'api-key.manage',
  'client.manage',
  'resource-server.manage',
])

/**
 * The credential of an application whose commands wait: it acts for no account and makes no credential, because the
 * commands of that would not wait.
 */
const proposing = (credential: VerifiedCredential, rights: ReadonlySet<string>): VerifiedCredential => ({
  ...credential,
  rights: [...narrowed(rights, credential.rights)].filter((right) => !makesCredentials.has(right)),
})

/** The rights of a user that a credential with the rights `to` has; undefined: all of them. */
export const narrowed = (rights: ReadonlySet<string>, to: readonly string[] | undefined): ReadonlySet<string> =>
  to === undefined ? rights : new Set(to.filter((right) => rights.has(right)))

/** @throws ProblemError `missing-right` with the names of all missing rights */
export function requireRights(caller: Caller, rights: readonly string[]): void {
  const missing = rights.filter((right) => !caller.rights.has(right))
  if (missing.length > 0) throw missingRights(caller, missing)
}

/**
 * Refuses the principal `anonymous`: its token names nobody, and goes on when the user who made it is disabled.
 * @throws ProblemError `missing-right`
 */
export function refuseAnonymous({ username }: Caller): void {
  if (!isAnonymous(username)) return
  throw new ProblemError('missing-right', 'The principal anonymous reads at most; this needs a credential of a user.')
}

/** The refusal of a caller without these rights. */
export const missingRights = (
  caller: Pick<Caller, 'scheme'>,
  missing: readonly string[],
  detail = `This needs the right ${missing.join(' and ')}.`,
): ProblemError<'missing-right'> =>
  new ProblemError('missing-right', detail, {
    members: { missingRight: missing[0], missingRights: missing },
    headers: caller.scheme === 'bearer' ? { 'www-authenticate': [insufficientScope] } : {},
  })

/** RFC 6750 §3.1. */
const insufficientScope = `Bearer realm="${realm}", error="insufficient_scope"`
