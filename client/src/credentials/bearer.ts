import { isProblem } from '../core/problem.ts'
import type { components as AuthComponents } from '../generated/auth.ts'
import {
  type Credential,
  type CredentialPorts,
  isRenewable,
  type OutgoingRequest,
  type Refusal,
  SharedWork,
  tokenOf,
} from './credential.ts'

/** The tokens of a login. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** When the access token ends, in milliseconds since the Unix epoch. */
  readonly expiresAt: number
  /** When the refresh token ends, in milliseconds since the Unix epoch. */
  readonly refreshExpiresAt: number
}

/** Where tokens are kept between runs, or shared by several tabs or processes. */
export interface TokenStore {
  /** The tokens that are kept; undefined when there are none. */
  read(): Promise<Tokens | undefined>
  /** Keeps the tokens; undefined forgets them. */
  write(tokens: Tokens | undefined): Promise<void>
  /** Runs work while no other user of the same store does. Needed where several refresh the same tokens. */
  exclusively?<Result>(work: () => Promise<Result>): Promise<Result>
}

/** A user name and a password, and a code for a user who needs a second factor. The code works once. */
export interface PasswordLogin {
  readonly username: string
  readonly password: string
  readonly code?: string
}

/**
 * The members `challenge` of the problems `second-factor-required` and `second-factor-enrolment-required`, and a code.
 */
export interface ChallengeAnswer {
  readonly challenge: string
  readonly code: string
}

/** Where a Bearer token comes from. */
export type BearerOptions =
  /** A user: logs in at the first request, and again when the login has ended. */
  | (PasswordLogin & { readonly store?: TokenStore })
  /** The answer to a refusal that wants a second factor. It logs in once. */
  | (ChallengeAnswer & { readonly store?: TokenStore })
  /** The tokens of a login that began elsewhere. */
  | ({ readonly tokens: Tokens; readonly store?: TokenStore } & OfClient)
  /** Tokens that are kept. */
  | ({ readonly store: TokenStore } & OfClient)

interface OfClient {
  /** The public client that the tokens were issued to, by a code or to a device: it refreshes at `/oauth/token`. */
  readonly clientId?: string
}

/** How long a refresh without an answer is repeated: less than REFRESH_RETRY_WINDOW of the auth server, 60 s. */
const repeatRefreshForMs = 45_000

/**
 * An access token. After a refusal for its age, one refresh serves all requests, and each of them is sent once more.
 * See docs/contract/logins.md#refresh-rotation.
 *
 * @example
 * ```ts
 * const credential = bearer({ username: 'alice', password })
 * const later = bearer({ store })
 * ```
 */
export const bearer = (options: BearerOptions): Credential => new Login(options)

class Login implements Credential {
  readonly #options: BearerOptions
  readonly #store: TokenStore | undefined
  readonly #work = new SharedWork<Tokens>()
  #tokens: Tokens | undefined

  constructor(options: BearerOptions) {
    this.#options = options
    this.#store = options.store
    this.#tokens = 'tokens' in options ? options.tokens : undefined
  }

  async authorize({ headers }: OutgoingRequest, ports: CredentialPorts): Promise<void> {
    const { accessToken } = this.#tokens ?? (await this.#renewed(undefined, ports))
    headers.set('authorization', `Bearer ${accessToken}`)
  }

  async renew({ code, request }: Refusal, ports: CredentialPorts): Promise<boolean> {
    if (!isRenewable(code)) return false
    const used = tokenOf(request)
    if (this.#tokens?.accessToken === used) await this.#renewed(used, ports)
    return true
  }

  async end(ports: CredentialPorts): Promise<void> {
    const tokens = this.#tokens ?? (await this.#store?.read())
    this.#tokens = undefined
    await this.#store?.write(undefined)
    if (!tokens) return
    const headers = { authorization: `Bearer ${tokens.refreshToken}` }
    await ports.call({ method: 'POST', path: '/logout', headers, repeatForMs: repeatRefreshForMs })
  }

  /** Other tokens than the refused one. */
  #renewed(refused: string | undefined, ports: CredentialPorts): Promise<Tokens> {
    const work = async () => {
      const kept = (await this.#store?.read()) ?? this.#tokens
      const found = kept && kept.accessToken !== refused ? kept : await this.#newTokens(kept, ports)
      if (found !== kept) await this.#store?.write(found)
      this.#tokens = found
      return found
    }
    return this.#work.run(() => this.#store?.exclusively?.(work) ?? work())
  }

  async #newTokens(kept: Tokens | undefined, ports: CredentialPorts): Promise<Tokens> {
    const options = this.#options
    const user = proofIn(options)
    if (kept) {
      try {
        return await refresh(kept, 'clientId' in options ? options.clientId : undefined, ports)
      } catch (error) {
        if (!user || !isProblem(error, 'invalid_grant')) throw error
      }
    }
    if (!user) throw new NotLoggedIn('There are no tokens: log in first.')
    return logIn(user, ports)
  }
}

function proofIn(options: BearerOptions): PasswordLogin | ChallengeAnswer | undefined {
  if ('challenge' in options) return { challenge: options.challenge, code: options.code }
  if (!('username' in options)) return undefined
  const { username, password, code } = options
  return { username, password, ...(code !== undefined && { code }) }
}

/** There are no tokens, and no password to get them with. */
export class NotLoggedIn extends Error {
  override readonly name = 'NotLoggedIn'
}

/** Begins a login. @throws KeyholdProblem, KeyholdUnreachable */
export const logIn = async (user: PasswordLogin | ChallengeAnswer, ports: CredentialPorts): Promise<Tokens> =>
  tokensIn(await ports.call({ method: 'POST', path: '/login', json: user }), ports)

/** A lost answer does no harm: for a while the server gives the same refresh token again. */
async function refresh(
  { refreshToken }: Tokens,
  clientId: string | undefined,
  ports: CredentialPorts,
): Promise<Tokens> {
  const form = clientId && { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId }
  const sent = form
    ? { path: '/oauth/token', form }
    : { path: '/refresh', headers: { authorization: `Bearer ${refreshToken}` } }
  return tokensIn(await ports.call({ method: 'POST', ...sent, repeatForMs: repeatRefreshForMs }), ports)
}

type TokenAnswer = AuthComponents['schemas']['Tokens']

async function tokensIn(response: Response, ports: CredentialPorts): Promise<Tokens> {
  const body = (await response.json()) as TokenAnswer
  const now = ports.now()
  return {
    accessToken: body.access_token,
    refreshToken: body.refresh_token,
    expiresAt: now + body.expires_in * 1000,
    refreshExpiresAt: now + body.refresh_expires_in * 1000,
  }
}
