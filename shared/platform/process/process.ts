import { isatty } from 'node:tty'
import { type Clock, systemClock } from '../clock.ts'
import type { Log } from '../log/log.ts'
import { OperatorError } from '../operator-error.ts'
import { InvalidSettings, type SettingProblem } from '../settings/settings.ts'

/**
 * Sets up the process of a server; called first. An OperatorError that is not caught ends the process with its message
 * only; other errors end it with a stack. An output that is closed or on a full disk does not end the process: output
 * is lost, requests are answered.
 */
export function beginServer(): void {
  refuseDebugger()
  process.on('uncaughtExceptionMonitor', (error) => {
    if (error instanceof OperatorError) endWith(error.exitCode, error.message)
  })
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

/** Node.js would open its debugger on SIGUSR1, where other users of the machine read the keys in memory. */
export function refuseDebugger(): void {
  process.on('SIGUSR1', () => undefined)
}

/** A terminal that is closed sends SIGHUP. Elsewhere, SIGHUP asks a server to read its files again. */
const isAtTerminal = isatty(0)

/** From now on the process goes on after a signal that would end it, calls `work`, and says so in the log. */
export function goOnAt(signal: 'SIGHUP' | 'SIGUSR2', log: Log, { sentence, work }: GoingOn): void {
  if (signal === 'SIGHUP' && isAtTerminal) return
  process.on(signal, () => {
    log.info(`${signal}: ${sentence}`)
    work?.()
  })
}

/** What a process says of a signal, and does. */
export interface GoingOn {
  readonly sentence: string
  readonly work?: () => void
}

/** If there are problems, ends the process with exit code 2 and names them all; of each variable, the first one. */
export function requireSettings(problems: readonly SettingProblem[]): void {
  if (problems.length === 0) return
  const isFirst = ({ variable }: SettingProblem, index: number) =>
    problems.findIndex((problem) => problem.variable === variable) === index
  endWith(2, new InvalidSettings(problems.filter(isFirst)).message)
}

/** Writes `message` to standard error and ends the process. */
export function endWith(exitCode: number, message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(exitCode)
}

/**
 * Within this time, in milliseconds, a second signal is the same one: the terminal signals npm and the server, and npm
 * passes it on.
 */
const sameSignalMs = 500

/**
 * Calls `close` on SIGINT or SIGTERM, or when the terminal is closed, and exits with 0 when it is done. A second signal
 * ends the process at once.
 */
export function closeOnSignal(log: Log, close: () => Promise<void>, clock: Clock = systemClock): void {
  let signalledAt: number | undefined
  const handle = (signal: NodeJS.Signals) => {
    if (signalledAt !== undefined) {
      if (clock.monotonic() - signalledAt > sameSignalMs) process.exit(1)
      return
    }
    signalledAt = clock.monotonic()
    log.info(`${signal}: answering accepted requests, then closing`)
    endAfter(close, log)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, handle)
  if (isAtTerminal) process.on('SIGHUP', handle)
}

/** Calls `close`, and ends the process with 0 after it. */
export function endAfter(close: () => Promise<void>, log: Log): void {
  close().then(
    () => process.exit(0),
    (error: unknown) => {
      log.error({ err: error }, 'The server did not close in order')
      process.exit(1)
    },
  )
}
