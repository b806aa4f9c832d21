import { type Clock, systemClock } from '../clock.ts'
import type { Log } from '../log/log.ts'
import { OperatorError } from '../operator-error.ts'
import { InvalidSettings, type SettingProblem } from '../settings/settings.ts'

/**
 * How every server's process behaves from its first line on. What an operator can put right ends it with that sentence, wherever it is
 * met; what cannot be put right ends it with a stack. A reader of its output that goes away, or a disk full of logs, ends nothing:
 * requests are answered all the same, and what would have been said is lost.
 */
export function beginServer(): void {
  process.on('uncaughtExceptionMonitor', (error) => {
    if (error instanceof OperatorError) endWith(error.exitCode, error.message)
  })
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

/** Ends the process with exit code 2 and names every problem, when there is one; of a variable the first. */
export function requireSettings(problems: readonly SettingProblem[]): void {
  if (problems.length === 0) return
  const isFirst = ({ variable }: SettingProblem, index: number) =>
    problems.findIndex((problem) => problem.variable === variable) === index
  endWith(2, new InvalidSettings(problems.filter(isFirst)).message)
}

/** Says why on standard error and ends the process. */
export function endWith(exitCode: number, message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(exitCode)
}

/** npm hands on to a server what the terminal has sent to both: a signal that comes so soon is the same one, in milliseconds. */
const sameSignalMs = 500

/** Calls `close` on SIGINT or SIGTERM and exits with 0 when it is done; a second signal does not wait. */
export function closeOnSignal(log: Log, close: () => Promise<void>, clock: Clock = systemClock): void {
  let askedAt: number | undefined
  const handle = (signal: NodeJS.Signals) => {
    if (askedAt !== undefined) {
      if (clock.monotonic() - askedAt > sameSignalMs) process.exit(1)
      return
    }
    askedAt = clock.monotonic()
    log.info(`${signal}: finishing what is under way`)
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the server did not close in order')
        process.exit(1)
      },
    )
  }
  process.on('SIGINT', handle)
  process.on('SIGTERM', handle)
}
