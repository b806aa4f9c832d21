/** Clients: applications that sign people in (docs/contract/sign-in.md#clients). Values alone. Knows no database. */
import type { MemberError } from '../../shared/platform/problems/problem-document.ts'
import { maxScopeLength } from '../../shared/protocol/access-token/access-token.ts'
import { publicKeyProblem } from '../api-keys/rsa-keys.ts'
import { type ClientKind, redirectUriProblem } from './redirect-uri.ts'

/** The values of a client that can be changed. */
export interface ClientValues {
  /** Each client has another one. Users see it. */
  readonly name: string
  /** True: users are not asked for their consent. */
  readonly firstParty: boolean
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris: readonly string[]
  /** The rights that its tokens may have, of those that the user has; null: all, of a first-party client alone. */
  readonly rights: readonly string[] | null
  /** Ids of the resource servers that its tokens may be for. */
  readonly resourceServers: readonly string[]
  /** The right that a user needs to sign in to it; null: none. */
  readonly needsRight: string | null
  /** False: an authorization request may come without PKCE when it has a `nonce`. */
  readonly requirePkce: boolean
  /** `propose`: commands on deals that it sends wait until somebody approves them. */
  readonly mode: 'run' | 'propose'
  /** The RSA key of `private_key_jwt`, as PEM; null: the client has a secret, or is public. */
  readonly publicKeyPem: string | null
}

/** A request for a new client. */
export interface ClientRequest extends ClientValues {
  readonly kind: ClientKind
}

/** A client as administrators see it, without its secret. Times in milliseconds. */
export interface Client extends ClientRequest {
  readonly id: string
  readonly createdAt: number
  readonly updatedAt: number
  /** Until when the secret before the last rotation is accepted too; null when there is none. */
  readonly formerUntil: number | null
  /** Moves in coarse steps. */
  readonly lastUsedAt: number | null
}

/** A client, with the secret that is shown only now; undefined for a public client, and for one with a key. */
export interface NewClient {
  readonly client: Client
  readonly secret: string | undefined
}

/** How many clients there can be at a time. */
export const maxClients = 1_000

/** What the audit log tells of a client. */
export function auditedClientOf(client: Client) {
  const { id: _id, createdAt: _at, updatedAt: _updated, formerUntil: _until, lastUsedAt: _used, ...values } = client
  return values
}

/** What the values of a client may name. */
export interface KnownNames {
  readonly rights: ReadonlySet<string>
  readonly resourceServers: ReadonlySet<string>
}

/** The problems of the values of a client. */
export function clientProblems(client: ClientRequest, known: KnownNames): MemberError[] {
  const { kind, firstParty, rights, needsRight, resourceServers, requirePkce, mode, publicKeyPem } = client
  const problems = [
    ...redirectProblems('redirectUris', client),
    ...redirectProblems('postLogoutRedirectUris', client),
    ...unknown('rights', rights ?? [], { names: known.rights, code: 'unknown-right' }),
    ...unknown('resourceServers', resourceServers, { names: known.resourceServers, code: 'unknown-resource' }),
  ]
  const add = (pointer: string, code: string, message: string) => problems.push({ pointer, code, message })
  if (!firstParty && rights === null)
    add('/rights', 'rights-missing', 'a client of another party needs a list of rights')
  // With all rights, its tokens would act for the account of their user, and could make credentials that run commands.
  else if (mode === 'propose' && rights === null)
    add('/rights', 'rights-missing', 'a client that proposes needs a list of rights')
  if ((rights ?? []).join(' ').length > maxScopeLength)
    add('/rights', 'rights-length', `${maxScopeLength} characters in all: a token has no room for more`)
  if (needsRight !== null && !known.rights.has(needsRight)) add('/needsRight', 'unknown-right', 'is not a right')
  if (kind === 'public' && !requirePkce) add('/requirePkce', 'pkce-needed', 'a public client always needs PKCE')
  if (kind === 'public' && publicKeyPem !== null)
    add('/publicKeyPem', 'confidential-only', 'a public client has no key')
  const keyProblem = publicKeyPem === null ? undefined : publicKeyProblem(publicKeyPem)
  if (keyProblem !== undefined) add('/publicKeyPem', 'public-key', keyProblem)
  return problems
}

function redirectProblems(member: 'redirectUris' | 'postLogoutRedirectUris', client: ClientRequest): MemberError[] {
  const uris = client[member]
  return uris.flatMap((uri, at) => {
    const pointer = `/${member}/${at}`
    if (uris.indexOf(uri) < at) return [{ pointer, code: 'redirect-duplicate', message: 'is there already' }]
    const problem = redirectUriProblem(uri, client.kind)
    return problem ? [{ pointer, ...problem }] : []
  })
}

interface Known {
  readonly names: ReadonlySet<string>
  readonly code: string
}

const unknown = (member: string, asked: readonly string[], { names, code }: Known): MemberError[] =>
  asked.flatMap((name, at) =>
    names.has(name) ? [] : [{ pointer: `/${member}/${at}`, code, message: 'there is none of this name' }],
  )
