/**
 * API keys sign requests and identify OAuth clients (docs/contract/accounts.md#api-keys). This file has the values of a
 * key and the rules for each value alone. Knows no database.
 */

import { rfc3339 } from '../../shared/platform/clock.ts'
import type { MemberError } from '../../shared/platform/problems/problem-document.ts'
import type { Catalogue } from '../../shared/protocol/principal/catalogue.ts'
import { isAnonymous } from '../../shared/protocol/principal/record.ts'
import { grantProblems, refuseProblems } from '../users/user.ts'
import { publicKeyProblem } from './rsa-keys.ts'

/** `hmac`: a secret that client and server share. `rsa`: a key pair, of which the server stores the public half. */
export type ApiKeyKind = 'hmac' | 'rsa'

/** A key as its owner sees it, without secrets. Times in milliseconds. */
export interface ApiKey {
  readonly id: string
  readonly kind: ApiKeyKind
  /** The user name of its owner, as created. */
  readonly username: string
  readonly name: string | null
  readonly requireBodyHash: boolean
  /** The rights of the key, of those that its owner has; null: all of them. */
  readonly rights: readonly string[] | null
  /** SPKI PEM, for kind `rsa`. */
  readonly publicKeyPem: string | null
  readonly createdAt: number
  readonly expiresAt: number | null
  /** Until when the material before the last rotation is accepted too; null when there is none. */
  readonly formerUntil: number | null
  /** Is updated at most once a minute by each server. */
  readonly lastUsedAt: number | null
  /** Made without a second factor, which the owner has or needs now: refused until it is confirmed. */
  readonly isSuspended: boolean
}

/** What the audit log tells of a key: nothing to sign with. */
export const auditedKeyOf = ({ kind, name, rights, requireBodyHash, expiresAt, formerUntil }: ApiKey) => ({
  kind,
  name,
  rights,
  requireBodyHash,
  expiresAt: expiresAt && rfc3339(expiresAt),
  formerUntil: formerUntil && rfc3339(formerUntil),
})

/** A request for a new key. */
export interface ApiKeyRequest {
  readonly kind: ApiKeyKind
  /** The owner of the new key. */
  readonly username: string
  readonly name?: string | undefined
  /** The public half of the client's own key pair. Without it, kind `rsa` gets a new pair. */
  readonly publicKeyPem?: string | undefined
  /** The default is true. */
  readonly requireBodyHash?: boolean | undefined
  readonly rights?: readonly string[] | undefined
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number | undefined
  /** The maker proved a second factor. Left out: only the server itself makes a confirmed key. */
  readonly isConfirmed?: boolean | undefined
}

/** A request for new material of a key. */
export interface ApiKeyRotation {
  /** For kind `rsa`, as in `ApiKeyRequest`. */
  readonly publicKeyPem?: string | undefined
  /** How long the former material is accepted too, in seconds. */
  readonly overlapSeconds: number
  /** A new expiry in milliseconds since the epoch; null for none. The old one when left out. */
  readonly expiresAt?: number | null | undefined
  /** As in `ApiKeyRequest`. */
  readonly isConfirmed?: boolean | undefined
}

/** The longest overlap of two secrets of a key, in seconds: 30 days. */
export const maxOverlapSeconds = 2_592_000

/** This long before it expires, a key counts as expiring soon, in milliseconds: 14 days. */
export const expiresSoonMs = 1_209_600_000

/** A new key, with the secret that is shown only now. */
export interface NewApiKey {
  readonly key: ApiKey
  /** For kind `hmac`. */
  readonly secret?: string
  /** PKCS#8 PEM, for kind `rsa`, unless the client sent a public key. */
  readonly privateKeyPem?: string
}

/** How many valid keys a user can have at a time. */
export const maxLiveKeys = 100

/** Refuses values that a key cannot have. @throws ProblemError `invalid-value` with `errors` */
export function refuseImpossible(catalogue: Catalogue, request: ApiKeyRequest, now: number): void {
  refuseProblems([
    ...grantProblems(catalogue, request.username, { rights: request.rights }),
    ...(isAnonymous(request.username) ? [anonymousOwner] : []),
    ...materialProblems(request),
    ...(request.expiresAt !== undefined && request.expiresAt <= now ? [expired] : []),
  ])
}

const anonymousOwner = { pointer: '/username', code: 'reserved-user', message: 'anonymous can have no API key' }
const expired = { pointer: '/expiresAt', code: 'in-the-past', message: 'must be in the future' }

/** Refuses new material that this key cannot have. @throws ProblemError `invalid-value` with `errors` */
export function refuseImpossibleRotation(kind: ApiKeyKind, { publicKeyPem, expiresAt }: ApiKeyRotation, now: number) {
  refuseProblems([
    ...materialProblems({ kind, publicKeyPem }),
    ...(expiresAt != null && expiresAt <= now ? [expired] : []),
  ])
}

function materialProblems({ kind, publicKeyPem }: Pick<ApiKeyRequest, 'kind' | 'publicKeyPem'>): MemberError[] {
  if (publicKeyPem === undefined) return []
  const problem = kind === 'rsa' ? publicKeyProblem(publicKeyPem) : 'only a key of kind rsa has a public key'
  return problem === undefined ? [] : [{ pointer: '/publicKeyPem', code: 'public-key', message: problem }]
}
