/** Limits what users have under way at once in a process: live streams, downloads, batches. */
import type { ProblemError } from '../problems/errors.ts'
import type { HttpResponse } from './response.ts'

/** The largest numbers of what may be under way. */
export interface UserLimitsOptions {
  /** The limit for each user. */
  readonly maxOfUser: number
  /** The limit for all users together. */
  readonly maxInAll: number
}

/** Counts what is under way. */
export class UserLimits {
  readonly #options: UserLimitsOptions
  readonly #refusal: (own: number | undefined) => ProblemError
  /** User id → how many of theirs are under way, for users who have one. */
  readonly #ofUsers = new Map<string, number>()
  #inAll = 0

  /** `refusal` makes the refusal of one more; `own` is set when the user has too many, and undefined when all have. */
  constructor(options: UserLimitsOptions, refusal: (own: number | undefined) => ProblemError) {
    this.#options = options
    this.#refusal = refusal
  }

  /** How many are under way. */
  get inAll(): number {
    return this.#inAll
  }

  /** Counts one of this user. Returns the function that releases it. @throws the refusal */
  acquire(userId: string): () => void {
    const { maxOfUser, maxInAll } = this.#options
    const own = this.#ofUsers.get(userId) ?? 0
    if (own >= maxOfUser) throw this.#refusal(own)
    if (this.#inAll >= maxInAll) throw this.#refusal(undefined)
    this.#ofUsers.set(userId, own + 1)
    this.#inAll += 1
    let isOpen = true
    return () => {
      if (isOpen) this.#release(userId)
      isOpen = false
    }
  }

  /** Counts an answer of this user from before it is made until its body has ended. @throws the refusal */
  async answer(userId: string, make: () => Promise<HttpResponse>): Promise<HttpResponse> {
    const release = this.acquire(userId)
    try {
      const response = await make()
      const { body } = response
      if (typeof body === 'function') return { ...response, body: (stream) => body(stream).finally(release) }
      release()
      return response
    } catch (error) {
      release()
      throw error
    }
  }

  #release(userId: string): void {
    const left = (this.#ofUsers.get(userId) ?? 0) - 1
    if (left > 0) this.#ofUsers.set(userId, left)
    else this.#ofUsers.delete(userId)
    this.#inAll -= 1
  }
}
