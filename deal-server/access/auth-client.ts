/** What the deal server asks of the auth server over the network: public keys and principal records. Every call has a deadline. */
import type { Clock } from '../../shared/clock.ts'
import { Unavailable } from '../../shared/errors.ts'
import type { IdSource } from '../../shared/ids.ts'
import { signInternalRequest } from '../../shared/internal-requests.ts'
import {
  feedAnswerSchema,
  type InstalledPrincipal,
  installationHeader,
  installationIdSchema,
} from '../../shared/principals/installation.ts'
import { parsePrincipalRecord } from '../../shared/principals/record.ts'

export interface AuthClient {
  /** The record as the database has it now, and which installation that is. @throws Unavailable */
  principal(username: string): Promise<InstalledPrincipal>
  /** Whose feed and cache there is to follow. @throws Unavailable */
  installationId(): Promise<string>
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
  const get = failFast(async (target: string, headers: Record<string, string>) => {
    try {
      const signal = AbortSignal.timeout(deadlineMs)
      const response = await fetch(authUrl + target, { headers, signal, redirect: 'error' })
      return { status: response.status, headers: response.headers, text: await response.text() }
    } catch (cause) {
      throw new Unavailable('auth-server', { cause })
    }
  })
  const getInternal = (target: string) => {
    const nonce = ids.secret(18)
    const authorization = signInternalRequest({ method: 'GET', target, body: '' }, { secret, clock, nonce })
    return get(target, { authorization })
  }
  return {
    principal: async (username) => {
      const { status, headers, text } = await getInternal(`/internal/principals/${encodeURIComponent(username)}`)
      const installation = installationIdSchema.safeParse(headers.get(installationHeader))
      const record = status === 200 ? parsePrincipalRecord(text) : undefined
      if (installation.success && (record || status === 404)) return { installationId: installation.data, record }
      throw new Unavailable('auth-server', { cause: new Error(`/internal/principals answered ${status}`) })
    },
    installationId: async () => {
      const { status, text } = await getInternal('/internal/feed')
      const answer = status === 200 ? feedAnswerSchema.safeParse(parseJson(text)) : undefined
      if (answer?.success) return answer.data.installationId
      throw new Unavailable('auth-server', { cause: new Error(`/internal/feed answered ${status}`) })
    },
    jwks: async () => {
      const { status, text } = await get('/.well-known/jwks.json', { accept: 'application/jwk-set+json' })
      if (status === 200) return parseJson(text)
      throw new Unavailable('auth-server', { cause: new Error(`jwks.json answered ${status}`) })
    },
  }
}

/** After a failure only one caller at a time waits for the auth server, until it answers; the others need not. */
function failFast<Parameters extends unknown[], Result>(
  ask: (...parameters: Parameters) => Promise<Result>,
): (...parameters: Parameters) => Promise<Result> {
  let isAway = false
  let isProbing = false
  return async (...parameters) => {
    const isProbe = isAway
    if (isProbe && isProbing) throw new Unavailable('auth-server')
    if (isProbe) isProbing = true
    try {
      const result = await ask(...parameters)
      isAway = false
      return result
    } catch (error) {
      isAway = true
      throw error
    } finally {
      if (isProbe) isProbing = false
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Unavailable('auth-server', { cause })
  }
}
