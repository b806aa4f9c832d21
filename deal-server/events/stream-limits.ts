/** Limits the open streams of a process: each needs memory, and a check of its caller's right every second. */
import { ProblemError } from '../../shared/platform/problems/errors.ts'

/** The largest numbers of open streams. */
export interface StreamLimitsOptions {
  /** The limit for each principal. */
  readonly maxOfPrincipal: number
  /** The limit for all principals together. */
  readonly maxInAll: number
}

/** How long a refused client should wait, in seconds: a stream may end at any time. */
const retryAfterSeconds = 10

/** Counts the open streams. */
export class StreamLimits {
  readonly #options: StreamLimitsOptions
  /** Principal id → its open streams, for principals that have one. */
  readonly #ofPrincipals = new Map<string, number>()
  #inAll = 0

  constructor(options: StreamLimitsOptions) {
    this.#options = options
  }

  /** The number of open streams. */
  get inAll(): number {
    return this.#inAll
  }

  /**
   * Counts a stream of this principal. Returns the function that releases it. @throws ProblemError `too-many-streams`
   */
  acquire(principalId: string): () => void {
    const { maxOfPrincipal, maxInAll } = this.#options
    const own = this.#ofPrincipals.get(principalId) ?? 0
    if (own >= maxOfPrincipal) throw tooMany(`You have ${own} streams open here; end one first.`)
    if (this.#inAll >= maxInAll) throw tooMany('The server has as many streams open as it may have.')
    this.#ofPrincipals.set(principalId, own + 1)
    this.#inAll += 1
    let isOpen = true
    return () => {
      if (isOpen) this.#release(principalId)
      isOpen = false
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
