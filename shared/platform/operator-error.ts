/** What whoever runs a program can put right: the message says what in one line, and is all that is shown of it. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
  /** With which exit code a program ends because of it: 2 when it was told something wrong, 1 when something is away. */
  readonly exitCode: 1 | 2

  constructor(message: string, { cause, exitCode = 2 }: { cause?: unknown; exitCode?: 1 | 2 } = {}) {
    super(message, cause === undefined ? {} : { cause })
    this.exitCode = exitCode
  }
}

/** Whether the operating system has refused something: a folder that cannot be written, a full disk, a port that is taken. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error

/** Does something with the files of a setting. @throws OperatorError that names it, when the system refuses */
export async function withFilesOf<Result>(setting: string, path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (!isSystemError(cause)) throw cause
    throw new OperatorError(`${setting}: ${path} cannot be used: ${cause.message}`, { cause })
  }
}
