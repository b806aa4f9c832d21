import { type Api, createApi } from './api.ts'
import { KeyholdProblem } from './core/problem.ts'
import type { ServerName } from './credentials/credential.ts'
import type { paths as AuthPaths } from './generated/auth.ts'
import type { paths as DealPaths } from './generated/deal.ts'
import { type RetryOptions, Sender, type SenderOptions } from './send.ts'

/** What a client is made with. */
export interface KeyholdOptions extends RetryOptions {
  /** The auth server, such as `https://auth.example.com`. */
  readonly authUrl: string
  /** The deal server. It may be the same URL. */
  readonly dealUrl: string
  /** Goes with every request that needs a caller. Without it, requests carry only what you give them. */
  readonly credential?: SenderOptions['credential']
  /** Used instead of the global one. */
  readonly fetch?: typeof globalThis.fetch
}

/** A client of both servers. */
export interface Keyhold {
  /** The calls of the auth server. */
  readonly auth: Api<AuthPaths>
  /** The calls of the deal server. */
  readonly deals: Api<DealPaths>
  /**
   * Like the global `fetch`, for a path of a server: with credential, command id and repetitions. Refusals are thrown.
   * `isStream`: the body of a success is not read ahead. @throws KeyholdProblem, KeyholdUnreachable
   */
  fetch(server: ServerName, path: string, init?: RequestInit & { readonly isStream?: boolean }): Promise<Response>
  /** Ends the credential's login or session on the server. */
  logOut(): Promise<void>
}

/**
 * Creates a client of both servers.
 *
 * @example
 * ```ts
 * const credential = bearer({ username: 'alice', password })
 * const keyhold = createKeyhold({ authUrl, dealUrl, credential })
 * const { data: deal } = await keyhold.deals.POST('/rest/v1/deals', { body: { name: 'deal123', price: '12.50' } })
 * ```
 */
export function createKeyhold(options: KeyholdOptions): Keyhold {
  const origins = { auth: withoutSlash(options.authUrl), deal: withoutSlash(options.dealUrl) }
  const sender = new Sender({ ...options, origins })
  const fetch: Keyhold['fetch'] = async (server, path, { isStream, signal, ...init } = {}) => {
    // One signal may be that of thousands of requests, each of which would listen to it until it is collected.
    const own = signal && AbortSignal.any([signal])
    const request = new Request(origins[server] + path, { ...init, ...(own && { signal: own }) })
    const response = await sender.send(server, request, isStream)
    if (!response.ok && response.status !== 304) throw await KeyholdProblem.of(response)
    return response
  }
  return {
    auth: createApi<AuthPaths>(origins.auth, (request) => sender.send('auth', request)),
    deals: createApi<DealPaths>(origins.deal, (request) => sender.send('deal', request)),
    fetch,
    logOut: () => sender.end(),
  }
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '')
