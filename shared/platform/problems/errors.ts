/**
 * The refusal of a request, thrown by all code below HTTP. It has a stable code. Only the problem table of each server
 * gives the code a status.
 *
 * Three audiences: the title in the problem table is for every reader, `detail` is for the developer of the client,
 * `cause` is for our log only. Neither `detail` nor `members` may contain a secret that the caller sent.
 */
export class ProblemError<Code extends string = string> extends Error {
  override readonly name = 'ProblemError'
  /** Stable, kebab-case; the key in the problem table. */
  readonly code: Code
  /** Facts a client needs, as extension members of the problem document (RFC 9457 §3.2). */
  readonly members: Readonly<Record<string, unknown>>
  /** Header fields the answer needs, such as challenges. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** The number of whole seconds after which a new attempt makes sense: `Retry-After`. */
  readonly retryAfterSeconds: number | undefined
  /** The status, where it is not the one of the problem table. */
  readonly status: number | undefined

  constructor(code: Code, detail: string, options: ProblemErrorOptions = {}) {
    super(detail, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.members = options.members ?? {}
    this.headers = options.headers ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds
    this.status = options.status
  }

  /** The same refusal with other members. */
  withMembers(members: Readonly<Record<string, unknown>>): ProblemError<Code> {
    const { code, message, headers, retryAfterSeconds, cause, status } = this
    return new ProblemError(code, message, { members, headers, retryAfterSeconds, cause, status })
  }

  /** The same refusal with another status than that of the problem table. */
  withStatus(status: number): ProblemError<Code> {
    const { code, message, members, headers, retryAfterSeconds, cause } = this
    return new ProblemError(code, message, { members, headers, retryAfterSeconds, cause, status })
  }
}

interface ProblemErrorOptions {
  readonly members?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly retryAfterSeconds?: number | undefined
  readonly status?: number | undefined
  /** For the log only. */
  readonly cause?: unknown
}

/**
 * A dependency of this server did not answer. Becomes 503 with `Retry-After`; never 500, and never permission to
 * continue.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  /**
   * The missing dependency, for readiness and the log: `database`, `database-writes`, `cache`, `auth-server`,
   * `hashing`.
   */
  readonly dependency: string
  readonly retryAfterSeconds: number

  constructor(dependency: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(`${dependency} is not available`, options.cause === undefined ? {} : { cause: options.cause })
    this.dependency = dependency
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1
  }
}

/** For `catch`, where the work can do without the dependency. @throws every other error */
export function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}
