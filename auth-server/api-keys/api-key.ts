/**
 * API keys: what signs requests and identifies OAuth clients (docs/contract.md#signed-request). This folder owns the keys, their
 * material and what ends them; it must not know HTTP, nor how a request is signed.
 *
 * Here: what a key is, and the rules that hold for each alone. Knows no database.
 */

import type { MemberError } from '../../shared/platform/problems/problem-document.ts'
import { isAnonymous } from '../../shared/protocol/principal/record.ts'
import { grantProblems, refuseProblems } from '../users/user.ts'
import { publicKeyProblem } from './rsa-keys.ts'

/** `hmac`: a secret that both sides hold. `rsa`: the public half of a key pair. */
export type ApiKeyKind = 'hmac' | 'rsa'

/** A key as its owner sees it: nothing secret. Times in milliseconds. */
export interface ApiKey {
  readonly id: string
  readonly kind: ApiKeyKind
  /** Its owner, as created. */
  readonly username: string
  readonly name: string | null
  readonly requireBodyHash: boolean
  /** All that it may do of what its owner may; null: everything. */
  readonly rights: readonly string[] | null
  /** SPKI PEM, of kind `rsa`. */
  readonly publicKeyPem: string | null
  readonly createdAt: number
  readonly expiresAt: number | null
  /** Moves in steps of a minute. */
  readonly lastUsedAt: number | null
}

/** A key to be made, as asked for. */
export interface ApiKeyRequest {
  readonly kind: ApiKeyKind
  /** Whose key it is to be. */
  readonly username: string
  readonly name?: string | undefined
  /** The public half of the client's own pair; without it, kind `rsa` gets a new pair. */
  readonly publicKeyPem?: string | undefined
  /** True when left out. */
  readonly requireBodyHash?: boolean | undefined
  readonly rights?: readonly string[] | undefined
  /** In milliseconds. */
  readonly expiresAt?: number | undefined
}

/** A new key, with what is shown of it only now. */
export interface NewApiKey {
  readonly key: ApiKey
  /** Of kind `hmac`. */
  readonly secret?: string
  /** PKCS#8 PEM, of kind `rsa`, unless the client brought a public key. */
  readonly privateKeyPem?: string
}

/** So many keys of one user live at a time. */
export const maxLiveKeys = 100

/** Refuses what no key can be. @throws ProblemError `invalid-value` with `errors` */
export function refuseImpossible(request: ApiKeyRequest, now: number): void {
  refuseProblems([
    ...grantProblems(request.username, [], request.rights),
    ...(isAnonymous(request.username) ? [anonymousOwner] : []),
    ...materialProblems(request),
    ...(request.expiresAt !== undefined && request.expiresAt <= now ? [expired] : []),
  ])
}

const anonymousOwner = { pointer: '/username', code: 'reserved-user', message: 'anonymous can have no API key' }
const expired = { pointer: '/expiresAt', code: 'in-the-past', message: 'must be in the future' }

function materialProblems({ kind, publicKeyPem }: ApiKeyRequest): MemberError[] {
  if (publicKeyPem === undefined) return []
  const problem = kind === 'rsa' ? publicKeyProblem(publicKeyPem) : 'only a key of kind rsa has a public key'
  return problem === undefined ? [] : [{ pointer: '/publicKeyPem', code: 'public-key', message: problem }]
}
