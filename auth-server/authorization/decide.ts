/** Decides about an authorization request of a browser (docs/contract/sign-in.md#authorization-request). Pure. */
import type { AuthorizationErrorCode } from '../oauth/oauth-error.ts'
import type { TravellingRequest } from './sealed-request.ts'

/** The user of a signed-in browser. Times in milliseconds. */
export interface SignedIn {
  readonly sessionId: string
  readonly userId: string
  readonly username: string
  readonly rights: ReadonlySet<string>
  readonly authenticatedAt: number
  readonly expiresAt: number
  /** The RFC 8176 value of the second factor; null for a login without one. */
  readonly factor: string | null
  /** What the user has let the client do; null: nothing yet. */
  readonly consent: Consent | null
}

/** What a user lets a client do. */
export interface Consent {
  readonly rights: readonly string[]
  readonly scopes: readonly string[]
}

/** What a client wants. */
export interface ClientRule {
  readonly firstParty: boolean
  readonly needsRight: string | null
}

/** What happens next. */
export type Decision =
  | { readonly next: 'code' | 'sign-in' | 'consent' }
  | { readonly next: 'refuse'; readonly code: AuthorizationErrorCode; readonly description: string }

const refuse = (code: AuthorizationErrorCode, description: string): Decision => ({ next: 'refuse', code, description })

/** Decides. `user` is undefined for a browser that is not signed in; `now` is in milliseconds. */
export function decide(
  travelling: TravellingRequest,
  { client, user, now }: { readonly client: ClientRule; readonly user: SignedIn | undefined; readonly now: number },
): Decision {
  const { request } = travelling
  const isSilent = request.prompts.includes('none')
  if (!user || needsNewSignIn(travelling, user, now)) {
    if (isSilent) return refuse('login_required', 'Nobody is signed in as this request demands.')
    return { next: 'sign-in' }
  }
  if (request.subject !== null && request.subject !== user.userId) {
    // Whoever has just signed in is another user than the client names: to ask again would not end.
    if (isSilent || travelling.signedInSince !== null)
      return refuse('login_required', 'Another user is signed in than that of id_token_hint.')
    return { next: 'sign-in' }
  }
  if (client.needsRight !== null && !user.rights.has(client.needsRight))
    return refuse('access_denied', 'The user lacks the right that this client needs.')
  if (!client.firstParty && (request.prompts.includes('consent') || !covers(user.consent, request))) {
    if (isSilent) return refuse('consent_required', 'The user has not let the client do this yet.')
    return { next: 'consent' }
  }
  return { next: 'code' }
}

/** How long after a sign-in for a request its user may take for the pages that follow, whatever `max_age` says. */
const pagesMs = 300_000

/** True when the sign-in of the session is too old for the request. */
function needsNewSignIn({ request, signedInSince }: TravellingRequest, user: SignedIn, now: number): boolean {
  const ageMs = now - user.authenticatedAt
  const isOlderThan = (leastMs: number) => request.maxAge !== null && ageMs > Math.max(request.maxAge * 1000, leastMs)
  if (signedInSince !== null) return user.authenticatedAt < signedInSince || isOlderThan(pagesMs)
  if (request.prompts.includes('login') || request.prompts.includes('select_account')) return true
  return isOlderThan(0)
}

/** True when the consent covers all that is asked for. Rights that are null are for first-party clients alone. */
const covers = (consent: Consent | null, { rights, scopes }: TravellingRequest['request']): boolean =>
  consent !== null &&
  (rights ?? []).every((right) => consent.rights.includes(right)) &&
  scopes.every((scope) => consent.scopes.includes(scope))

/** The user, who now lets the client do this. */
export const withConsent = (
  user: SignedIn,
  { rights, scopes }: { readonly rights: readonly string[] | null; readonly scopes: readonly string[] },
): SignedIn => ({ ...user, consent: { rights: rights ?? [], scopes } })
