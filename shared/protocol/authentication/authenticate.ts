/**
 * From a request to a caller: find the one credential, verify it, then let the principal record decide. No fall-through: a bad
 * credential is an error even if another would do (CONTRACT section 4). Fails closed: without a record there is no caller.
 */
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import type { HttpCall } from '../../platform/http/call.ts'
import type { Traced } from '../../platform/http/trace.ts'
import { Refused, Unavailable } from '../../platform/problems/errors.ts'
import type { PrincipalRecord } from '../principal/record.ts'
import type { RefuseCrossSite } from './cross-site.ts'
import { areSeveral, createFinder, type Found, type PresentedCredentials } from './find-credentials.ts'
import { falseClaim } from './request-claims.ts'
import {
  type AnswerHeaders,
  isOfScript,
  realm,
  type Scheme,
  type SchemeName,
  type VerifiedCredential,
} from './scheme.ts'

/** Who calls, as far as the servers care. */
export interface Caller {
  /** As created, whatever the credential's spelling. */
  readonly username: string
  readonly userId: string
  /** What the record gives, and the credential lets through. */
  readonly rights: ReadonlySet<string>
  readonly scheme: SchemeName
  readonly credential: VerifiedCredential
}

/** Where principal records come from. */
export interface Principals {
  /** The record, or undefined when there is no such user. @throws Unavailable when nobody can tell */
  get(username: string, onBehalfOf?: Traced): Promise<PrincipalRecord | undefined> | PrincipalRecord | undefined
  /** Where that can happen: calls `listener` whenever all that was known is of no use, because the database is another one. */
  onOtherInstallation?(listener: () => void): void
}

/** @throws Refused with the challenges; Unavailable */
export type Authenticate = (call: HttpCall) => Promise<Caller>

/** The caller as of now, while an answer goes on. @throws Refused when the credential has expired or ended; Unavailable */
export type Recheck = (caller: Caller) => Promise<Caller>

/** What authentication rests on. */
export interface AuthenticationPorts {
  /** The enabled ones. */
  readonly schemes: readonly Scheme[]
  readonly principals: Principals
  readonly refuseCrossSite: RefuseCrossSite
  readonly clock: Clock
  /** Let reused signatures through, for a pipeline that answers them with a stored command or not at all. */
  readonly handsOnReusedSignatures?: boolean
  /** Told of every outcome: `accepted`, `unavailable`, or the code of the refusal. */
  readonly observe?: (scheme: SchemeName | 'none', outcome: string) => void
}

/** Which credentials a request carries, unverified: for routes that have one of their own in the path. */
export interface Presented {
  readonly schemes: readonly SchemeName[]
  /** An `Authorization` field that no scheme here reads. */
  readonly isForeign: boolean
  /** The refusal of several credentials, which makes a browser forget a dead one of these. */
  refuseSeveral(): Promise<Refused<'several-credentials'>>
}

export interface Authentication {
  readonly authenticate: Authenticate
  readonly recheck: Recheck
  /** @throws Refused for a credential of no possible form */
  readonly presented: (call: HttpCall) => Presented
}

/** Authentication as both servers do it. */
export function createAuthentication(ports: AuthenticationPorts): Authentication {
  const { principals, clock, observe = () => undefined } = ports
  const find = createFinder(ports.schemes)
  return {
    authenticate: async (call) => {
      let tried: SchemeName | 'none' = 'none'
      try {
        const presented = find(call)
        if (areSeveral(call, presented)) throw await refuseSeveral(presented.found, call, principals)
        const { scheme, credential } = requireOne(presented, call, ports.schemes)
        tried = scheme.name
        // Nobody waits for what is known already: each wait would cost more than most of these steps.
        const verifying = scheme.verify(credential, call)
        const verified = verifying instanceof Promise ? await verifying : verifying
        if (tried !== 'signed-request' && call.rawQuery !== '') await refuseFalseClaims(call)
        const looking = principals.get(verified.username, call)
        const record = requireLive(looking instanceof Promise ? await looking : looking, verified, scheme, call)
        if (scheme.isSentByBrowsers) ports.refuseCrossSite(call)
        if (verified.signature?.isReused && !ports.handsOnReusedSignatures) throw signatureUsed(clock)
        observe(tried, 'accepted')
        const caller = callerOf(record, verified, tried)
        call.caller = caller
        return caller
      } catch (error) {
        observe(tried, error instanceof Refused ? error.code : 'unavailable')
        throw error
      }
    },
    recheck: async ({ credential, scheme, userId }) => {
      if (credential.expiresAt !== undefined && credential.expiresAt <= clock.now()) {
        throw new Refused('token-expired', 'The credential has expired.')
      }
      const record = requireLive(await principals.get(credential.username), credential)
      if (record.userId !== userId) throw new Refused('principal-disabled', 'The user of this credential was deleted.')
      await credential.recheck?.()
      return callerOf(record, credential, scheme)
    },
    presented: (call) => {
      const { found, isForeign } = find(call)
      return {
        schemes: found.map(({ scheme }) => scheme.name),
        isForeign,
        refuseSeveral: () => refuseSeveral(found, call, principals),
      }
    },
  }
}

/** @throws Refused `unknown-scheme`, `unauthenticated` */
function requireOne({ found, isForeign }: PresentedCredentials, call: HttpCall, schemes: readonly Scheme[]): Found {
  const [only] = found
  if (only) return only
  if (isForeign)
    throw refuse('unknown-scheme', 'The Authorization header is of no scheme served here.', { schemes, call })
  throw refuse('unauthenticated', 'The request carries no credential.', { schemes, call })
}

/** Without a signature too, what a request says of itself must be true. @throws Refused `invalid-parameter` */
async function refuseFalseClaims(call: HttpCall): Promise<void> {
  const name = await falseClaim(call)
  if (name !== undefined) throw new Refused('invalid-parameter', `The parameter ${name} is not true of this request.`)
}

/** The refusal of a signature that was used before. */
export const signatureUsed = (clock: Clock): Refused<'signature-used'> =>
  new Refused('signature-used', 'A signature of an unsafe request works once; sign the request anew.', {
    members: { serverTime: unixSeconds(clock.now()) },
  })

async function refuseSeveral(
  found: readonly Found[],
  call: HttpCall,
  principals: Principals,
): Promise<Refused<'several-credentials'>> {
  const headers: Record<string, string | readonly string[]> = {}
  for (const { scheme, credential } of found) {
    if (!scheme.isForgottenAmongSeveral) continue
    Object.assign(headers, await headersWhenDead({ scheme, credential }, call, principals))
  }
  const detail = 'Send exactly one credential; several are refused, even if one of them is valid.'
  return new Refused('several-credentials', detail, { headers })
}

/** What a refusal of this credential alone would have brought along; nothing when it is alive, or nobody can tell. */
async function headersWhenDead(
  { scheme, credential }: Found,
  call: HttpCall,
  principals: Principals,
): Promise<AnswerHeaders> {
  try {
    const verified = await scheme.verify(credential, call)
    requireLive(await principals.get(verified.username, call), verified, scheme, call)
    return {}
  } catch (error) {
    if (error instanceof Unavailable) return {}
    if (!(error instanceof Refused)) throw error
    const { 'set-cookie': expired } = error.headers
    return expired === undefined ? {} : { 'set-cookie': expired }
  }
}

/** The order in which challenges are sent: clients take the first that they know (CONTRACT section 4). */
const challengeOrder: readonly SchemeName[] = ['bearer', 'key-signed', 'digest', 'basic']

/** A browser answers these with a dialog. */
const dialogSchemes: readonly SchemeName[] = ['digest', 'basic']

/** A 401 that says which schemes are served, one challenge a line; `routes.ts` names them all in `schemes`. */
function refuse(
  code: 'unknown-scheme' | 'unauthenticated',
  detail: string,
  { schemes, call }: { schemes: readonly Scheme[]; call: HttpCall },
) {
  const challenges = challengeOrder
    .filter((name) => !isOfScript(call) || !dialogSchemes.includes(name))
    .flatMap((name) => schemes.find((scheme) => scheme.name === name)?.challenge(call) ?? [])
  return new Refused(code, detail, { headers: challenges.length === 0 ? {} : { 'www-authenticate': challenges } })
}

/** What a credential carries that its user's record may refuse it for. */
type Mortal = Pick<VerifiedCredential, 'generation' | 'loginId' | 'tokenId'>

interface Refusal {
  readonly code: 'principal-disabled' | 'login-ended'
  readonly detail: string
}

/** Why the record refuses a credential: disabled or unknown user, another generation, an ended login. Undefined for a live one. */
export function refusalOf(record: PrincipalRecord, credential: Mortal): Refusal | undefined {
  const { generation, loginId, tokenId } = credential
  if (!record.enabled) return noSuchUser
  if (generation !== undefined && generation !== generationOf(record, loginId)) return otherGeneration
  const ids = record.endedLogins
  const hasEnded = (id: string | undefined) => id !== undefined && ids.includes(id)
  return ids.length > 0 && (hasEnded(loginId) || hasEnded(tokenId)) ? endedLogin : undefined
}

const noSuchUser: Refusal = {
  code: 'principal-disabled',
  detail: 'The user of this credential is disabled or does not exist.',
}
const otherGeneration: Refusal = {
  code: 'login-ended',
  detail: 'Every credential made before the last password change or logout everywhere has ended.',
}
const endedLogin: Refusal = { code: 'login-ended', detail: 'The login this credential belongs to has ended.' }

/** @throws Refused `principal-disabled`, `login-ended`, with what the scheme adds to refusals of this call */
function requireLive(
  record: PrincipalRecord | undefined,
  credential: VerifiedCredential,
  scheme?: Scheme,
  call?: HttpCall,
): PrincipalRecord {
  const refusal = record ? refusalOf(record, credential) : noSuchUser
  if (record && !refusal) return record
  const { code, detail } = refusal ?? noSuchUser
  throw new Refused(code, detail, { headers: scheme && call ? scheme.refusalHeaders(call) : {} })
}

const generationOf = ({ generation, keptLogin }: PrincipalRecord, loginId: string | undefined): number =>
  keptLogin !== null && keptLogin.id === loginId ? keptLogin.generation : generation

/** Effective rights as a set, made once per record. */
const rightsOf = new WeakMap<PrincipalRecord, ReadonlySet<string>>()

function callerOf(record: PrincipalRecord, credential: VerifiedCredential, scheme: SchemeName): Caller {
  let rights = rightsOf.get(record)
  if (!rights) {
    rights = new Set(record.rights)
    rightsOf.set(record, rights)
  }
  const { username, userId } = record
  return { username, userId, rights: narrowed(rights, credential.rights), scheme, credential }
}

/** What a credential lets through of its user's rights; undefined: everything. */
export const narrowed = (rights: ReadonlySet<string>, to: readonly string[] | undefined): ReadonlySet<string> =>
  to === undefined ? rights : new Set(to.filter((right) => rights.has(right)))

/** @throws Refused `missing-right`, naming every right that is lacking */
export function requireRights(caller: Caller, rights: readonly string[]): void {
  const missing = rights.filter((right) => !caller.rights.has(right))
  if (missing.length > 0) throw missingRights(caller, missing)
}

/** The refusal of a caller who lacks these rights. */
export const missingRights = (
  caller: Pick<Caller, 'scheme'>,
  missing: readonly string[],
  detail = `This needs the right ${missing.join(' and ')}.`,
): Refused<'missing-right'> =>
  new Refused('missing-right', detail, {
    members: { missingRight: missing[0], missingRights: missing },
    headers: caller.scheme === 'bearer' ? { 'www-authenticate': [insufficientScope] } : {},
  })

/** RFC 6750 §3.1. */
const insufficientScope = `Bearer realm="${realm}", error="insufficient_scope"`
