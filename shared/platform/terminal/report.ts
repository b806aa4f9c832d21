/** Results of commands, for scripts and for people. */

/** The result of a command in two forms. */
export interface Report {
  /** Printed with `--json`. */
  readonly json: unknown
  /** Printed otherwise: whole lines. */
  readonly text: string
  /** 1 for a refusal, such as a check that failed. */
  readonly exitCode?: 0 | 1
}

/** A refusal with its reason: exit code 1. */
export class OperationError extends Error {
  override readonly name = 'OperationError'
}

/** A server or a file that the tool needs is not available or does not work: exit code 1. */
export class OperationFailed extends Error {
  override readonly name = 'OperationFailed'
}

/** Wrong arguments or a missing setting: exit code 2. */
export class WrongUsage extends Error {
  override readonly name = 'WrongUsage'
}

/** Makes the action of a command: it runs `work`, prints the report and sets the exit code. */
export type ReportAction = <Parameters extends unknown[]>(
  work: (...parameters: Parameters) => Promise<Report>,
) => (...parameters: Parameters) => Promise<void>

/** Formats a duration: `3 d 4 h`, `12 min`, `40 s`. */
export function duration(milliseconds: number): string {
  const seconds = Math.round(Math.abs(milliseconds) / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}
