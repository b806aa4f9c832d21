import type { Log } from '../../../shared/platform/log/log.ts'
import type { VerifierLog } from './verifier.ts'

/** The log of a service in the form that all parts use: the message may be alone. */
export function toLog(log: VerifierLog): Pick<Log, 'debug' | 'info' | 'warn' | 'error'> {
  const writer =
    (level: keyof VerifierLog): Log['info'] =>
    (first: unknown, message?: unknown) => {
      if (typeof first === 'string') log[level]({}, first)
      else log[level](Object(first), String(message ?? ''))
    }
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') }
}
