import type { HttpRequest } from '../../platform/http/request.ts'
import { loginClientId, proxyClientId } from '../access-token/access-token.ts'
import type { EntryOrigin } from '../entry-changes.ts'
import type { VerifiedCredential } from './scheme.ts'

/** An application that acts for a user. */
export interface Application {
  readonly id: string
  /** Its name when the token was issued; its id where the token does not tell it. */
  readonly name: string
}

/**
 * The application that has this credential: its user has let it act, and can stop it. Undefined for any other
 * credential: the token of an API key has the key for its client.
 */
export function applicationOf({
  clientId,
  clientName,
  loginId,
}: Pick<VerifiedCredential, 'clientId' | 'clientName' | 'loginId'>): Application | undefined {
  if (clientId === undefined || [loginClientId, proxyClientId, loginId].includes(clientId)) return undefined
  return { id: clientId, name: clientName ?? clientId }
}

/** The origin of what a request changes. Without a caller, the work itself authenticates. */
export const originOf = (
  request: HttpRequest,
  caller?: { readonly username: string; readonly scheme: string; readonly credential: VerifiedCredential },
): EntryOrigin => ({
  actor: caller?.username ?? null,
  client: caller && applicationOf(caller.credential)?.name,
  scheme: caller?.scheme ?? null,
  address: request.peer.address,
  requestId: request.requestId,
})
