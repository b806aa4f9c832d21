/**
 * Checks an authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3, OpenID Connect Core §3.1.2.1) against its client, in
 * the order of docs/contract/sign-in.md#authorization-request. Pure but for what `Known` looks up.
 */
import * as z from 'zod'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { maxScopeLength } from '../../shared/protocol/access-token/access-token.ts'
import type { KnownClient } from '../clients/client-secrets.ts'
import { registeredUri } from '../clients/redirect-uri.ts'
import type { OtherServer } from '../oauth/audiences.ts'
import type { AuthorizationErrorCode } from '../oauth/oauth-error.ts'
import { ownResourceServer } from '../principals/rights.ts'
import { openIdScopes } from '../tokens/id-tokens.ts'

const prompts = ['none', 'login', 'select_account', 'consent'] as const

/** A value of `prompt`. */
export type Prompt = (typeof prompts)[number]

/** A request whose parameters are right. It travels sealed. */
export const requestSchema = z.object({
  clientId: z.string(),
  redirectUri: z.string(),
  state: z.string().nullable(),
  nonce: z.string().nullable(),
  /** `code_challenge` with S256; null: without PKCE. */
  challenge: z.string().nullable(),
  /** Scopes of OpenID Connect. */
  scopes: z.array(z.string()),
  /** The rights of the tokens, of those that the user has; null: all of them. */
  rights: z.array(z.string()).nullable(),
  /** The audience of the access tokens; null: that of the pair. */
  audience: z.string().nullable(),
  prompts: z.array(z.enum(prompts)),
  /** In seconds. */
  maxAge: z.number().nullable(),
  loginHint: z.string().nullable(),
  /** The user of `id_token_hint`. */
  subject: z.string().nullable(),
})

/** A request whose parameters are right. */
export type AuthorizationRequest = z.infer<typeof requestSchema>

/** Where the answer of a request goes: its redirect URI is registered. */
export type ReplyTo = Pick<AuthorizationRequest, 'redirectUri' | 'state'>

/** A refusal that the client learns, by a redirect. */
export class AuthorizationError extends Error {
  override readonly name = 'AuthorizationError'
  readonly code: AuthorizationErrorCode
  readonly replyTo: ReplyTo

  constructor(replyTo: ReplyTo, code: AuthorizationErrorCode, description: string) {
    super(description)
    this.code = code
    this.replyTo = replyTo
  }
}

/** A refusal that is shown to the user: nobody knows that the client wants an answer there. */
export const unanswerable = (detail: string) => new ProblemError('invalid-authorization-request', detail)

/** What is looked up of a request. */
export interface Known {
  /** Names of all rights. */
  rightNames(): Promise<ReadonlySet<string>>
  /** As `Audiences.chooseServer`. */
  chooseServer(resource: string | undefined): Promise<OtherServer | null | undefined>
  /** The user of an ID token that this client got. */
  subjectOf(idToken: string): Promise<string | undefined>
}

/** The longest request, in characters. */
export const maxRequestLength = 8_192

const maxShortLength = 512

/** The value of a parameter. One without a value counts as left out (RFC 6749 §3.1). */
const givenValue = (parameters: URLSearchParams, name: string): string | undefined => parameters.get(name) || undefined

/** Refuses a parameter that occurs twice: two readers could take another one of them. @throws ProblemError */
export function refuseDoubled(parameters: URLSearchParams): void {
  const names = [...parameters.keys()]
  const doubled = names.find((name, at) => names.indexOf(name) < at)
  if (doubled !== undefined) throw unanswerable(`The parameter ${doubled.slice(0, 100)} is given twice.`)
}

/** Where the answer goes. @throws ProblemError `invalid-authorization-request` */
export function replyToOf(parameters: URLSearchParams, client: KnownClient): ReplyTo {
  const sent = givenValue(parameters, 'redirect_uri')
  if (sent === undefined) throw unanswerable('The parameter redirect_uri is missing.')
  const redirectUri = registeredUri(client.redirectUris, sent)
  if (redirectUri === undefined) throw unanswerable('The redirect_uri is not one of this client.')
  const state = givenValue(parameters, 'state') ?? null
  return { redirectUri, state: state !== null && state.length > maxShortLength ? null : state }
}

/**
 * Checks the parameters of a request of this client.
 * @throws ProblemError `invalid-authorization-request`; AuthorizationError; Unavailable
 */
export async function checkRequest(
  parameters: URLSearchParams,
  client: KnownClient,
  known: Known,
): Promise<AuthorizationRequest> {
  const replyTo = replyToOf(parameters, client)
  const value = (name: string) => givenValue(parameters, name)
  const refuse = (code: AuthorizationErrorCode, description: string) =>
    new AuthorizationError(replyTo, code, description)
  for (const name of ['state', 'nonce', 'login_hint'])
    if ((value(name)?.length ?? 0) > maxShortLength)
      throw refuse('invalid_request', `${name}: at most ${maxShortLength} characters.`)
  if (value('response_type') === undefined) throw refuse('invalid_request', 'response_type is missing.')
  if (value('response_type') !== 'code') throw refuse('unsupported_response_type', 'response_type: only code.')
  if ((value('response_mode') ?? 'query') !== 'query') throw refuse('invalid_request', 'response_mode: only query.')
  if (value('request') !== undefined) throw refuse('request_not_supported', 'request: send plain parameters.')
  if (value('request_uri') !== undefined)
    throw refuse('request_uri_not_supported', 'request_uri: only one that /oauth/par has given.')
  if (value('registration') !== undefined) throw refuse('registration_not_supported', 'registration is not known here.')
  const { scopes, rights } = await scopesOf(value('scope'), client, { known, refuse })
  const nonce = value('nonce') ?? null
  const challenge = challengeOf(value, { refuse, client, isBound: scopes.includes('openid') && nonce !== null })
  return {
    clientId: client.id,
    redirectUri: replyTo.redirectUri,
    state: replyTo.state,
    nonce,
    challenge,
    scopes,
    rights,
    audience: await audienceOf(value('resource'), client, { known, refuse }),
    prompts: promptsOf(value('prompt'), refuse),
    maxAge: maxAgeOf(value('max_age'), refuse),
    loginHint: value('login_hint') ?? null,
    subject: await subjectOf(value('id_token_hint'), known, refuse),
  }
}

/**
 * The request as its client may make it now: a client can change while a request is on its way, and one that travels is
 * sealed again on each page. Rights that the client has lost are left out.
 * @throws ProblemError `invalid-authorization-request`; Unavailable
 */
export async function requestNow(
  request: AuthorizationRequest,
  client: KnownClient,
  known: Known,
): Promise<AuthorizationRequest> {
  if (registeredUri(client.redirectUris, request.redirectUri) === undefined)
    throw unanswerable('The redirect_uri is not one of this client any more.')
  if (request.challenge === null && client.requirePkce) throw unanswerable('This client needs PKCE now (RFC 7636).')
  const refuse: Refuse = (_code, description) => unanswerable(description)
  await audienceOf(request.audience ?? undefined, client, { known, refuse })
  return { ...request, rights: rightsWithin(request.rights, client) }
}

/** Those of the rights that tokens of this client may have. Null stands for all. */
export const rightsWithin = (rights: readonly string[] | null, client: KnownClient): string[] | null => {
  if (rights === null || client.rights === null) return (rights ?? client.rights)?.slice() ?? null
  return rights.filter((right) => client.rights?.includes(right))
}

type Refuse = (code: AuthorizationErrorCode, description: string) => Error

/** What a check looks up, and how it refuses. */
export interface LookUp {
  readonly known: Pick<Known, 'rightNames' | 'chooseServer'>
  readonly refuse: Refuse
}

/**
 * The scopes of OpenID Connect that are asked for, and the rights of the tokens, as in `AuthorizationRequest`. OpenID
 * Connect Core §3.1.2.1 wants unknown scopes to be ignored. Rights beyond those of the client are left out (RFC 6749
 * §3.3): assistants ask for all that a resource server names. @throws what `refuse` makes; Unavailable
 */
export async function scopesOf(text: string | undefined, client: KnownClient, { known, refuse }: LookUp) {
  if ((text?.length ?? 0) > maxScopeLength)
    throw refuse('invalid_scope', `scope: at most ${maxScopeLength} characters.`)
  const asked = [...new Set(text?.split(' ').filter((name) => name !== ''))]
  const scopes = openIdScopes.filter((scope) => asked.includes(scope))
  const others = asked.filter((name) => !openIdScopes.some((scope) => scope === name))
  const names = await known.rightNames()
  const named = others.filter((name) => names.has(name))
  if (named.length < others.length && !scopes.includes('openid'))
    throw refuse('invalid_scope', 'scope: openid, profile, email, roles, offline_access and names of rights.')
  const within = rightsWithin(named, client) ?? []
  if (named.length > 0 && within.length === 0)
    throw refuse('invalid_scope', 'scope: names only rights that tokens of this client may not have.')
  const rights = within.length > 0 ? within : client.firstParty ? client.rights && [...client.rights] : []
  return { scopes, rights }
}

interface ChallengeContext {
  readonly refuse: Refuse
  readonly client: KnownClient
  /** The `nonce` of an ID token binds the code to the browser as PKCE does (RFC 9700 §2.1.1). */
  readonly isBound: boolean
}

function challengeOf(
  value: (name: string) => string | undefined,
  { refuse, client, isBound }: ChallengeContext,
): string | null {
  const [challenge, method] = [value('code_challenge'), value('code_challenge_method')]
  if (challenge === undefined && method === undefined && !client.requirePkce && isBound) return null
  if (challenge === undefined) throw refuse('invalid_request', 'code_challenge is missing (RFC 7636).')
  if (method !== 'S256') throw refuse('invalid_request', 'code_challenge_method: only S256.')
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw refuse('invalid_request', 'code_challenge: 43 characters of base64url.')
  return challenge
}

/** The audience of `resource`; null: that of the pair. @throws what `refuse` makes; Unavailable */
export async function audienceOf(resource: string | undefined, client: KnownClient, { known, refuse }: LookUp) {
  const server = await known.chooseServer(resource)
  const id = server === null ? ownResourceServer : server?.id
  if (id === undefined || !client.resourceServers.includes(id))
    throw refuse('invalid_target', 'resource: the audience of a resource server that tokens of this client may be for.')
  return server?.audience ?? null
}

function promptsOf(text: string | undefined, refuse: Refuse): Prompt[] {
  const asked = [...new Set(text?.split(' ').filter((name) => name !== ''))]
  const found = prompts.filter((prompt) => asked.includes(prompt))
  if (found.length < asked.length) throw refuse('invalid_request', `prompt: of ${prompts.join(', ')}.`)
  if (found.includes('none') && found.length > 1) throw refuse('invalid_request', 'prompt: none excludes the others.')
  return found
}

function maxAgeOf(text: string | undefined, refuse: Refuse): number | null {
  if (text === undefined) return null
  if (!/^\d{1,10}$/.test(text) || Number(text) > 2 ** 31)
    throw refuse('invalid_request', 'max_age: seconds, from 0 to 2147483648.')
  return Number(text)
}

async function subjectOf(hint: string | undefined, known: Known, refuse: Refuse): Promise<string | null> {
  if (hint === undefined) return null
  const subject = await known.subjectOf(hint)
  if (subject === undefined) throw refuse('invalid_request', 'id_token_hint: no ID token of this client.')
  return subject
}
