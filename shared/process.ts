import { type Clock, systemClock } from './clock.ts'
import { type Certificate, CertificateError, type CertificateFiles, openCertificate } from './http/certificate.ts'
import type { Log } from './log.ts'
import { InvalidSettings, type SettingProblem } from './settings.ts'

/** Ends the process with exit code 2 and names every problem, when there is one. */
export function requireSettings(problems: readonly SettingProblem[]): void {
  if (problems.length === 0) return
  // The first one of a variable: what it was expected to be, before what follows from its being no good.
  const distinct = new Map(problems.toReversed().map((problem) => [problem.variable, problem]))
  endWith(2, new InvalidSettings([...distinct.values()].reverse()).message)
}

/** The certificate to serve HTTPS with, if there is to be one; ends the process with exit code 2 when it cannot be served with. */
export async function requireCertificate(
  files: CertificateFiles | undefined,
  log: Log,
): Promise<Certificate | undefined> {
  try {
    return await openCertificate(files, { log })
  } catch (error) {
    if (error instanceof CertificateError) endWith(2, error.message)
    throw error
  }
}

/**
 * What listens there. Ends the process with exit code 2, after `release`, when nothing can: another process has the port, or nobody
 * here the address.
 */
export async function requireListening<Listening>(
  { host, port }: { readonly host: string; readonly port: number },
  listening: Promise<Listening>,
  release?: () => Promise<void>,
): Promise<Listening> {
  try {
    return await listening
  } catch (error) {
    await release?.()
    return endWith(2, `Cannot listen on ${host}:${port}: ${error instanceof Error ? error.message : error}`)
  }
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
