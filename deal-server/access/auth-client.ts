/** What the deal server asks of the auth server over the network: public keys and principal records. Every call has a deadline. */
import type { Clock } from '../../shared/clock.ts'
import { Unavailable } from '../../shared/errors.ts'
import type { IdSource } from '../../shared/ids.ts'
import { signInternalRequest } from '../../shared/internal-requests.ts'
import { type PrincipalRecord, parsePrincipalRecord } from '../../shared/principals/record.ts'

export interface AuthClient {
  /** The record as the database has it now; undefined when there is no such user. @throws Unavailable */
  principal(username: string): Promise<PrincipalRecord | undefined>
  /** The JWK Set of the JWT keys (RFC 7517 §5), unchecked. @throws Unavailable */
  jwks(): Promise<unknown>
}

export interface AuthClientPorts {
  /** Where the auth server is found (AUTH_URL), without a slash at the end. */
  readonly authUrl: string
  /** SERVICE_SECRET: the one that is used. */
  readonly secret: string
  readonly clock: Clock
  readonly ids: IdSource
  readonly fetch: typeof globalThis.fetch
}

/** How long the auth server may take, in milliseconds. */
const deadlineMs = 3_000

/** A client of the auth server at AUTH_URL. */
export function createAuthClient({ authUrl, secret, clock, ids, fetch }: AuthClientPorts): AuthClient {
  const get = async (target: string, headers: Record<string, string>) => {
    try {
      const signal = AbortSignal.timeout(deadlineMs)
      const response = await fetch(authUrl + target, { headers, signal, redirect: 'error' })
      return { status: response.status, text: await response.text() }
    } catch (cause) {
      throw new Unavailable('auth-server', { cause })
    }
  }
  return {
    principal: async (username) => {
      const target = `/internal/principals/${encodeURIComponent(username)}`
      const authorization = signInternalRequest(
        { method: 'GET', target, body: '' },
        { secret, clock, nonce: ids.secret(18) },
      )
      const { status, text } = await get(target, { authorization })
      if (status === 404) return undefined
      const record = status === 200 ? parsePrincipalRecord(text) : undefined
      if (record) return record
      throw new Unavailable('auth-server', { cause: new Error(`/internal/principals answered ${status}`) })
    },
    jwks: async () => {
      const { status, text } = await get('/.well-known/jwks.json', { accept: 'application/jwk-set+json' })
      if (status === 200) return parseJson(text)
      throw new Unavailable('auth-server', { cause: new Error(`jwks.json answered ${status}`) })
    },
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Unavailable('auth-server', { cause })
  }
}
