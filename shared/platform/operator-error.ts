/** An error that the operator of a program can correct. Only its message is shown: one line that says what is wrong. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
  /** The exit code of the program: 2 for wrong input or settings, 1 for a missing dependency. */
  readonly exitCode: 1 | 2

  constructor(message: string, { cause, exitCode = 2 }: { cause?: unknown; exitCode?: 1 | 2 } = {}) {
    super(message, cause === undefined ? {} : { cause })
    this.exitCode = exitCode
  }
}

/** True for an error of the operating system: a folder that cannot be written, a full disk, a port that is in use. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error

/** Runs `work` with the files of a setting. @throws OperatorError that names the setting, when the system refuses */
export async function withFilesOf<Result>(setting: string, path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (!isSystemError(cause)) throw cause
    throw new OperatorError(`${setting}: ${path} cannot be used: ${cause.message}`, { cause })
  }
}
