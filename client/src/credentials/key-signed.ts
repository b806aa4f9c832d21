import {
  type Credential,
  type CredentialPorts,
  isRenewable,
  type OutgoingRequest,
  type Refusal,
  SharedWork,
  tokenOf,
} from './credential.ts'
import { base64, utf8 } from './encode.ts'

/** What a key-signed token may hold. */
export type KeySignedMember = 'username' | 'ip' | 'password'

/** Where a key-signed token comes from. */
export type KeySignedOptions =
  /** A user: gets a token at the first request, and another one when it has ended. */
  | { readonly username: string; readonly password: string; readonly include?: readonly KeySignedMember[] }
  /** A token, with its password if it holds the hash of one. */
  | { readonly token: string; readonly password?: string }

/** How long a request for a token without an answer is repeated. Tokens are kept nowhere: one more does no harm. */
const repeatForMs = 45_000

/**
 * A key-signed token (docs/contract/callers.md#key-signed-token).
 *
 * @example
 * ```ts
 * const credential = keySigned({ username: 'alice', password, include: ['username', 'ip'] })
 * ```
 */
export const keySigned = (options: KeySignedOptions): Credential => new KeySigned(options)

class KeySigned implements Credential {
  readonly #options: KeySignedOptions
  readonly #work = new SharedWork<string>()
  #token: string | undefined

  constructor(options: KeySignedOptions) {
    this.#options = options
    if ('token' in options) this.#token = options.token
  }

  async authorize({ headers }: OutgoingRequest, ports: CredentialPorts): Promise<void> {
    const options = this.#options
    headers.set('authorization', `KeySigned ${this.#token ?? (await this.#next(ports))}`)
    const needsPassword = 'token' in options || options.include?.includes('password')
    if (!needsPassword || options.password === undefined) return
    const encoded = base64(utf8(options.password)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '')
    headers.set('x-key-signed-password', encoded)
  }

  async renew({ code, request }: Refusal, ports: CredentialPorts): Promise<boolean> {
    if ('token' in this.#options || !isRenewable(code)) return false
    if (this.#token === tokenOf(request)) await this.#next(ports)
    return true
  }

  #next(ports: CredentialPorts): Promise<string> {
    return this.#work.run(async () => {
      const response = await ports.call({
        method: 'POST',
        path: '/key-signed-tokens',
        json: this.#options,
        repeatForMs,
      })
      const { token } = (await response.json()) as { token: string }
      this.#token = token
      return token
    })
  }
}
