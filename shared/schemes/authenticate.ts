/**
 * From a request to a caller: find the one credential, verify it, then let the principal record decide. No fall-through: a bad
 * credential is an error even if another would do (CONTRACT section 4). Fails closed: without a record there is no caller.
 */
import { Refused } from '../errors.ts'
import type { HttpCall } from '../http/call.ts'
import type { PrincipalRecord } from '../principals/record.ts'
import { realm, type Scheme, type SchemeName, type VerifiedCredential } from './scheme.ts'

/** Who calls, as far as the servers care. */
export interface Caller {
  /** As created, whatever the credential's spelling. */
  readonly username: string
  readonly userId: string
  readonly rights: ReadonlySet<string>
  readonly scheme: SchemeName
  readonly loginId: string | undefined
  /** The credential generation of what was presented. */
  readonly generation: number | undefined
  /** Milliseconds since the epoch; undefined where the credential does not end by itself. */
  readonly expiresAt: number | undefined
}

/** Where principal records come from. */
export interface Principals {
  /** The record, or undefined when there is no such user. @throws Unavailable when nobody can tell */
  get(username: string): Promise<PrincipalRecord | undefined> | PrincipalRecord | undefined
}

export type Authenticate = (call: HttpCall) => Promise<Caller>

/** @throws Refused with the challenges, as every function it calls; Unavailable */
export function createAuthenticate(schemes: readonly Scheme[], principals: Principals): Authenticate {
  return async (call) => {
    const { scheme, credential } = findCredential(call, schemes)
    const verified = await scheme.verify(credential, call)
    const record = await principals.get(verified.username)
    return callerOf(requireLive(record, verified, scheme), verified, scheme.name)
  }
}

function findCredential(call: HttpCall, schemes: readonly Scheme[]): { scheme: Scheme; credential: string } {
  const lines = call.headerLines('authorization')
  if (lines.length > 1) throw severalCredentials()
  let found: { scheme: Scheme; credential: string } | undefined
  for (const scheme of schemes) {
    const credential = scheme.find(call)
    if (credential === undefined) continue
    if (found) throw severalCredentials()
    found = { scheme, credential }
  }
  const ofAuthorization = lines.length === 1
  if (!found && ofAuthorization) {
    throw refuseCredential('unknown-scheme', 'The Authorization header is of no scheme served here.', schemes)
  }
  if (!found) throw refuseCredential('unauthenticated', 'The request carries no credential.', schemes)
  return found
}

const severalCredentials = () =>
  new Refused('several-credentials', 'Send exactly one credential; several are refused, even if one of them is valid.')

/** A 401 that says which schemes are served: one challenge a line, all names in `schemes`. */
const refuseCredential = (code: 'unknown-scheme' | 'unauthenticated', detail: string, schemes: readonly Scheme[]) =>
  new Refused(code, detail, {
    members: { schemes: schemes.map(({ name }) => name) },
    headers: { 'www-authenticate': schemes.flatMap(({ challenge }) => challenge ?? []) },
  })

/** Refuses what the record says is dead: disabled or unknown user, another generation, an ended login. */
function requireLive(
  record: PrincipalRecord | undefined,
  { generation, loginId }: VerifiedCredential,
  scheme: Scheme,
): PrincipalRecord {
  const refuse = (code: 'principal-disabled' | 'login-ended', detail: string) =>
    new Refused(code, detail, { headers: { 'www-authenticate': [invalidCredentialChallenge(scheme)] } })
  if (!record?.enabled) throw refuse('principal-disabled', 'The user of this credential is disabled or does not exist.')
  if (generation !== undefined && generation !== generationOf(record, loginId)) {
    throw refuse('login-ended', 'Every credential made before the last password change or logout everywhere has ended.')
  }
  if (loginId !== undefined && record.endedLogins.includes(loginId)) {
    throw refuse('login-ended', 'The login this credential belongs to has ended.')
  }
  return record
}

const generationOf = ({ generation, keptLogin }: PrincipalRecord, loginId: string | undefined): number =>
  keptLogin !== null && keptLogin.id === loginId ? keptLogin.generation : generation

/** `error="invalid_token"` is Bearer's own (RFC 6750 §3.1); other schemes repeat their plain challenge. */
const invalidCredentialChallenge = (scheme: Scheme): string =>
  scheme.name === 'bearer' ? `${scheme.challenge}, error="invalid_token"` : (scheme.challenge ?? 'Bearer')

/** Effective rights as a set, made once per record. */
const rightsOf = new WeakMap<PrincipalRecord, ReadonlySet<string>>()

function callerOf(record: PrincipalRecord, verified: VerifiedCredential, scheme: SchemeName): Caller {
  let rights = rightsOf.get(record)
  if (!rights) {
    rights = new Set(record.rights)
    rightsOf.set(record, rights)
  }
  const { loginId, generation, expiresAt } = verified
  return { username: record.username, userId: record.userId, rights, scheme, loginId, generation, expiresAt }
}

/** @throws Refused `missing-right`, naming every right that is lacking */
export function requireRights(caller: Caller, rights: readonly string[]): void {
  const missing = rights.filter((right) => !caller.rights.has(right))
  if (missing.length > 0) throw missingRights(caller, missing)
}

/** The refusal of a caller who lacks these rights. */
export const missingRights = (caller: Caller, missing: readonly string[]): Refused<'missing-right'> =>
  new Refused('missing-right', `This needs the right ${missing.join(' and ')}.`, {
    members: { missingRight: missing[0], missingRights: missing },
    headers: caller.scheme === 'bearer' ? { 'www-authenticate': [insufficientScope] } : {},
  })

/** RFC 6750 §3.1. */
const insufficientScope = `Bearer realm="${realm}", error="insufficient_scope"`
