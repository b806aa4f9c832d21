/** The authorization request that a sign-in is on the way to (docs/contract/sign-in.md#authorization-request). */
import type { AuthApi, AuthReply } from '../frame/auth-api.ts'

/** Who asks, for what, and where the answer goes. */
export type AskedRequest = AuthReply<'GET /oauth/authorize/request'>

/** The request behind this URL of the auth server; undefined for any other, and for a request that has expired. */
export async function askedRequest(api: AuthApi, url: string, authOrigin: string): Promise<AskedRequest | undefined> {
  const { origin, pathname, searchParams } = new URL(url)
  const [client_id, request_uri] = [searchParams.get('client_id'), searchParams.get('request_uri')]
  if (origin !== authOrigin || pathname !== '/oauth/authorize' || !client_id || !request_uri) return undefined
  const reply = await api.call('GET /oauth/authorize/request', { query: { client_id, request_uri } })
  return reply.ok ? reply.body : undefined
}
