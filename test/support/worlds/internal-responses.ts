/** Answers at `/internal` as an auth server proves them, for deal servers that are tested without one. */
import { internalMacHeader, macOfInternalResponse } from '../../../shared/protocol/internal-api/responses.ts'

/** The answer with the MAC that belongs to it and to the request with this `Authorization` field. */
export async function proved(answer: Response, authorization: string | null, secret: string): Promise<Response> {
  const body = await answer.text()
  const nonce = /nonce=([\w-]+)/.exec(authorization ?? '')?.[1] ?? ''
  const { status, headers } = answer
  const mac = macOfInternalResponse({ status, body, header: (name) => headers.get(name) }, { secret, nonce })
  headers.set(internalMacHeader, mac)
  return new Response(body === '' ? null : body, { status, headers })
}

/** The same for whatever `fetch` answers. */
export const provedFetch =
  (fetch: typeof globalThis.fetch, secret: string): typeof globalThis.fetch =>
  async (input, init) =>
    proved(await fetch(input, init), new Headers(init?.headers).get('authorization'), secret)
