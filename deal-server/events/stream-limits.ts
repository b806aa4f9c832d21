/** How many streams may be open in a process: each costs memory and looks at its caller's right every second. */
import { ProblemError } from '../../shared/platform/problems/errors.ts'

export interface StreamLimitsOptions {
  /** Of one principal. */
  readonly maxOfPrincipal: number
  /** Of all together. */
  readonly maxInAll: number
}

/** What a refused client waits, in seconds: a stream may end at any time. */
const retryAfterSeconds = 10

export class StreamLimits {
  readonly #options: StreamLimitsOptions
  /** Of those alone who have a stream. */
  readonly #ofPrincipals = new Map<string, number>()
  #inAll = 0

  constructor(options: StreamLimitsOptions) {
    this.#options = options
  }

  /** Streams that are open. */
  get inAll(): number {
    return this.#inAll
  }

  /** Counts a stream of this principal until what it gives is called. @throws ProblemError `too-many-streams` */
  take(principalId: string): () => void {
    const { maxOfPrincipal, maxInAll } = this.#options
    const own = this.#ofPrincipals.get(principalId) ?? 0
    if (own >= maxOfPrincipal) throw tooMany(`You have ${own} streams open here; end one first.`)
    if (this.#inAll >= maxInAll) throw tooMany('The server has as many streams open as it may have.')
    this.#ofPrincipals.set(principalId, own + 1)
    this.#inAll += 1
    let isTaken = true
    return () => {
      if (isTaken) this.#release(principalId)
      isTaken = false
    }
  }

  #release(principalId: string): void {
    const left = (this.#ofPrincipals.get(principalId) ?? 0) - 1
    if (left > 0) this.#ofPrincipals.set(principalId, left)
    else this.#ofPrincipals.delete(principalId)
    this.#inAll -= 1
  }
}

const tooMany = (detail: string) => new ProblemError('too-many-streams', detail, { retryAfterSeconds })
