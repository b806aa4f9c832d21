import { type Credential, type CredentialPorts, type OutgoingRequest, type Refusal, SharedWork } from './credential.ts'

/** Who begins a session. */
export interface SessionUser {
  readonly username: string
  readonly password: string
}

/**
 * A session cookie. With a user, the first request begins the session, and it is begun again when it has ended. Without
 * one, the cookie that the browser has is used. See docs/contract/callers.md#session-cookie.
 *
 * @example
 * ```ts
 * const ofProgram = session({ username: 'alice', password })
 * const ofBrowser = session()
 * ```
 */
export const session = (user?: SessionUser): Credential => new Session(user)

class Session implements Credential {
  readonly isCookie = true
  readonly #user: SessionUser | undefined
  readonly #work = new SharedWork<void>()
  /** Which session each request was sent with. */
  readonly #sentWith = new WeakMap<OutgoingRequest, number>()
  #count = 0
  /** Undefined in browsers, which keep it to themselves. */
  #cookie: string | undefined

  constructor(user: SessionUser | undefined) {
    this.#user = user
  }

  async authorize(request: OutgoingRequest, ports: CredentialPorts): Promise<void> {
    if (this.#user && this.#count === 0) await this.#begin(this.#user, ports)
    if (this.#cookie !== undefined) request.headers.set('cookie', this.#cookie)
    this.#sentWith.set(request, this.#count)
  }

  async renew({ code, request }: Refusal, ports: CredentialPorts): Promise<boolean> {
    if (!this.#user || !['invalid-session', 'login-ended', 'unauthenticated'].includes(code)) return false
    if (this.#sentWith.get(request) === this.#count) await this.#begin(this.#user, ports)
    return true
  }

  async end(ports: CredentialPorts): Promise<void> {
    const headers = { ...(this.#cookie !== undefined && { cookie: this.#cookie }) }
    this.#count = 0
    this.#cookie = undefined
    await ports.call({ method: 'DELETE', path: '/sessions/current', headers, isCookie: true })
  }

  #begin(user: SessionUser, ports: CredentialPorts): Promise<void> {
    return this.#work.run(async () => {
      const { headers } = await ports.call({ method: 'POST', path: '/sessions', json: user, isCookie: true })
      this.#cookie = headers.getSetCookie().at(0)?.split(';')[0]
      this.#count += 1
    })
  }
}
