/**
 * A checked authorization request on its way: through a pushed request (RFC 9126), signing in and consent. It is
 * sealed, and stored nowhere.
 */
import * as z from 'zod'
import type { Sealing } from '../store/sealing.ts'
import { type AuthorizationRequest, requestSchema } from './authorization-request.ts'

/** A request, and how far it has come. */
export interface TravellingRequest {
  readonly request: AuthorizationRequest
  /** A sign-in satisfies the request when it is not older, in milliseconds; null: the request alone says how old. */
  readonly signedInSince: number | null
  /** The session whose user is asked for consent; null before that. */
  readonly sessionId: string | null
}

/** Beginning of a `request_uri` of this server (RFC 9126 §2.2). */
export const requestUriPrefix = 'urn:ietf:params:oauth:request_uri:'

const contentSchema = z.object({
  request: requestSchema,
  signedInSince: z.number().nullable(),
  sessionId: z.string().nullable(),
  expiresAt: z.number(),
})

const placeOf = (clientId: string) => ({ purpose: 'authorization-request', row: clientId })

/** Seals a request until then, in milliseconds: its `request_uri`. */
export const sealRequest = (sealing: Sealing, travelling: TravellingRequest, expiresAt: number): string => {
  const { request, signedInSince, sessionId } = travelling
  const text = JSON.stringify({ request, signedInSince, sessionId, expiresAt })
  return requestUriPrefix + sealing.seal(text, placeOf(request.clientId))
}

/** Opens the `request_uri` of a client; undefined for any other text, and for one that has expired. */
export function openRequest(
  sealing: Sealing,
  { requestUri, clientId, now }: { readonly requestUri: string; readonly clientId: string; readonly now: number },
): TravellingRequest | undefined {
  const text = openedText(sealing, requestUri.slice(requestUriPrefix.length), placeOf(clientId))
  const { data } = contentSchema.safeParse(text === undefined ? undefined : JSON.parse(text))
  return data && data.expiresAt > now ? data : undefined
}

/** Opens a text that a client has sent back; undefined when it is not of this server, purpose and row. */
export function openedText(
  sealing: Sealing,
  text: string,
  place: { purpose: string; row: string },
): string | undefined {
  try {
    return sealing.open(text, place)
  } catch {
    return undefined
  }
}
