/**
 * Signing out from an application (OpenID Connect RP-Initiated Logout 1.0). The address that the browser goes on to is
 * registered by a client, and an ID token of that client, or the user, says that the session ends.
 */
import * as z from 'zod'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { KnownClient } from '../clients/client-secrets.ts'
import { registeredUri } from '../clients/redirect-uri.ts'
import type { OAuthSystems } from '../oauth/oauth-systems.ts'
import { maxRequestLength, refuseDoubled, unanswerable } from './authorization-request.ts'
import { openedText } from './sealed-request.ts'

const requestSchema = z.object({
  /** The name of the client that asks; null: it does not say who it is. */
  clientName: z.string().nullable(),
  /** Where the browser goes on, with `state`; null: to a page of this server. */
  location: z.string().nullable(),
  /** The user of `id_token_hint`; null: without one, the user is asked. */
  subject: z.string().nullable(),
  /** In milliseconds. */
  expiresAt: z.number(),
})

/** A request to sign out whose parameters are right. */
export type SignOutRequest = z.infer<typeof requestSchema>

/** Requests to sign out. */
export interface SignOuts {
  /** Reads the parameters of a request, or one that was sealed. @throws ProblemError `invalid-authorization-request` */
  read(sent: URLSearchParams): Promise<SignOutRequest>
  /** Seals a request for the next page: the value of its parameter `request`. */
  seal(request: SignOutRequest): string
}

/** True when the user need not be asked: nobody is signed in, or the client knows who is. */
export const isAgreed = ({ subject }: SignOutRequest, caller: Caller | undefined): boolean =>
  caller === undefined || subject === caller.userId

const place = { purpose: 'sign-out-request', row: '' }
const ttlMs = 3_600_000

/** Creates them. */
export function createSignOuts({ sealing, clock, clients, readIdTokenHint }: OAuthSystems): SignOuts {
  const opened = (sealed: string): SignOutRequest => {
    const text = openedText(sealing, sealed, place)
    const { data } = requestSchema.safeParse(text === undefined ? undefined : JSON.parse(text))
    if (data && data.expiresAt > clock.now()) return data
    throw unanswerable('The request has expired, or is not one of this server.')
  }
  return {
    seal: (request) => sealing.seal(JSON.stringify(request), place),
    read: async (sent) => {
      refuseDoubled(sent)
      if (sent.toString().length > 2 * maxRequestLength) throw unanswerable('The request is too long.')
      const value = (name: string) => sent.get(name) || undefined
      const sealed = value('request')
      if (sealed !== undefined) return opened(sealed)
      const idToken = value('id_token_hint')
      const hint = idToken === undefined ? undefined : await readIdTokenHint(idToken)
      if (idToken !== undefined && !hint) throw unanswerable('The id_token_hint is no ID token of this server.')
      const clientId = value('client_id') ?? hint?.clientId
      if (hint && clientId !== hint.clientId) throw unanswerable('The id_token_hint is of another client.')
      const client = clientId === undefined ? undefined : await clients.known(clientId)
      const location = locationOf(client, { uri: value('post_logout_redirect_uri'), state: value('state') })
      const expiresAt = clock.now() + ttlMs
      return { clientName: client?.name ?? null, location, subject: hint?.subject ?? null, expiresAt }
    },
  }
}

interface GoingOn {
  readonly uri: string | undefined
  readonly state: string | undefined
}

function locationOf(client: KnownClient | undefined, { uri, state }: GoingOn): string | null {
  if (uri === undefined) return null
  if (registeredUri(client?.postLogoutRedirectUris ?? [], uri) === undefined)
    throw unanswerable('The post_logout_redirect_uri is not one of this client.')
  return state === undefined ? uri : `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams({ state })}`
}
