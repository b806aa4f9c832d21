import { type Credential, isRenewable, type OutgoingRequest, type Refusal, SharedWork, tokenOf } from './credential.ts'

/** Gives an access token; after a refusal, another one than the refused. */
export type AccessTokenSource = (refused: string | undefined) => string | Promise<string>

/**
 * An access token from elsewhere, such as `grant_type=client_credentials` (docs/contract/accounts.md#oauth).
 *
 * @example
 * ```ts
 * const credential = accessToken((refused) => (refused === undefined ? token : nextToken()))
 * ```
 */
export const accessToken = (source: string | AccessTokenSource): Credential =>
  new GivenToken(typeof source === 'string' ? () => source : source)

class GivenToken implements Credential {
  readonly #source: AccessTokenSource
  readonly #work = new SharedWork<string>()
  #token: string | undefined

  constructor(source: AccessTokenSource) {
    this.#source = source
  }

  async authorize({ headers }: OutgoingRequest): Promise<void> {
    headers.set('authorization', `Bearer ${this.#token ?? (await this.#next())}`)
  }

  async renew({ code, request }: Refusal): Promise<boolean> {
    if (!isRenewable(code)) return false
    const used = tokenOf(request)
    if (this.#token === used) await this.#next()
    return this.#token !== used
  }

  #next(): Promise<string> {
    return this.#work.run(async () => {
      this.#token = await this.#source(this.#token)
      return this.#token
    })
  }
}
