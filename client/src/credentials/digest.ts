import type { Credential, OutgoingRequest, Refusal, ServerName } from './credential.ts'
import { hex, sha256 } from './encode.ts'

/** A user and the user's Digest secret, which is not the password: docs/contract/callers.md#digest. */
export interface DigestOptions {
  readonly username: string
  readonly secret: string
}

/**
 * HTTP Digest (RFC 7616) with SHA-256. A nonce serves many requests, each with a count of its own. The first request to
 * a server asks for a nonce.
 *
 * @example
 * ```ts
 * const params = { path: { username: 'alice' } }
 * const { data } = await keyhold.auth.PUT('/users/{username}/digest-secret', { params, body: {} })
 * const credential = digest({ username: 'alice', secret: data.secret })
 * ```
 */
export const digest = (options: DigestOptions): Credential => new Digest(options)

/** A script gets no challenge, which would open a dialog. An answer to this nonce brings a right one. */
const noNonce = 'none'
const constant = 'realm="keyhold", algorithm=SHA-256, qop=auth, opaque="keyhold"'

const sha256Hex = async (text: string): Promise<string> => hex(await sha256(text))

class Digest implements Credential {
  readonly #options: DigestOptions
  readonly #nonces: Partial<Record<ServerName, { nonce: string; count: number }>> = {}

  constructor(options: DigestOptions) {
    this.#options = options
  }

  async authorize({ method, url, headers, server }: OutgoingRequest): Promise<void> {
    const { username, secret } = this.#options
    this.#nonces[server] ??= { nonce: noNonce, count: 0 }
    const used = this.#nonces[server]
    used.count += 1
    const { nonce } = used
    const nc = used.count.toString(16).padStart(8, '0')
    const cnonce = crypto.randomUUID()
    const uri = url.pathname + url.search
    const [ha1, ha2] = await Promise.all([`${username}:keyhold:${secret}`, `${method}:${uri}`].map(sha256Hex))
    const response = await sha256Hex(`${ha1}:${nonce}:${nc}:${cnonce}:auth:${ha2}`)
    const own = `username="${username}", nonce="${nonce}", uri="${uri}", nc=${nc}, cnonce="${cnonce}"`
    headers.set('authorization', `Digest ${own}, response="${response}", ${constant}`)
  }

  renew({ code, headers, request }: Refusal): boolean {
    if (code !== 'stale-nonce' && nonceIn(request.headers.get('authorization')) !== noNonce) return false
    this.observe(headers, request)
    return this.#nonces[request.server]?.nonce !== noNonce
  }

  /** Goes on with the nonce of the server, unless another request has got one already. */
  observe(headers: Headers, { server, headers: sent }: OutgoingRequest): void {
    const next = nonceIn(headers.get('authentication-info')) ?? nonceIn(headers.get('www-authenticate'))
    const isUsed = this.#nonces[server]?.nonce === nonceIn(sent.get('authorization'))
    if (next !== undefined && isUsed) this.#nonces[server] = { nonce: next, count: 0 }
  }
}

const nonceIn = (field: string | null): string | undefined =>
  /nonce="([^"]+)"/.exec(field?.replace(/cnonce/, '') ?? '')?.[1]
