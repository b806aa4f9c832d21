/**
 * How everything below HTTP refuses a caller. A refusal is a value with a stable code; which status that code has is decided by
 * one table at the edge of each server (`http/problems.ts`), and nowhere else.
 *
 * Three audiences: the title of the code's entry in that table is for everybody, `detail` is for the developer of the calling
 * client, `cause` is for our log alone. Nothing that a caller sent as a secret may stand in `detail` or `members`.
 */
export class Refused<Code extends string = string> extends Error {
  override readonly name = 'Refused'
  /** Stable, kebab-case; the key into the problem table. */
  readonly code: Code
  /** Facts a client needs, as extension members of the problem document (RFC 9457 §3.2). */
  readonly members: Readonly<Record<string, unknown>>
  /** Header fields the answer needs, such as challenges. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** After so many whole seconds a new attempt makes sense: `Retry-After`. */
  readonly retryAfterSeconds: number | undefined

  constructor(code: Code, detail: string, options: RefusedOptions = {}) {
    super(detail, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.members = options.members ?? {}
    this.headers = options.headers ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** What a refusal may carry beside its code and its detail. */
export interface RefusedOptions {
  readonly members?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly retryAfterSeconds?: number | undefined
  /** For the log only. */
  readonly cause?: unknown
}

/**
 * Something this server depends on did not answer. Becomes 503 with `Retry-After`, never a 500, and never an "allowed".
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  /** What was missing, for readiness and the log: `database`, `cache`, `auth-server`, `hashing`. */
  readonly dependency: string
  readonly retryAfterSeconds: number

  constructor(dependency: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(`${dependency} is not available`, options.cause === undefined ? {} : { cause: options.cause })
    this.dependency = dependency
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1
  }
}
