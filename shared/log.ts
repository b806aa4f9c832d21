import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'

export type Log = Logger

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

export interface LogSettings {
  readonly level: (typeof logLevels)[number]
  /** Undefined: pretty on a terminal, JSON lines elsewhere. */
  readonly format: 'json' | 'pretty' | undefined
}

/** Members that are never written, wherever in a log entry they stand: the last line of defence, not the first. */
const secretMembers = [
  'authorization',
  'cookie',
  'password',
  'token',
  'access_token',
  'refresh_token',
  'secret',
  'signature',
  'privateKeyPem',
]

/**
 * The process's log. Errors are written with name, code and stack; a database error carries no parameter (see `DatabaseError`).
 */
export function createLog(settings: LogSettings, destination?: DestinationStream): Log {
  const usePretty = (settings.format ?? (process.stdout.isTTY ? 'pretty' : 'json')) === 'pretty'
  const stream =
    destination ??
    (usePretty
      ? pretty({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l', singleLine: true })
      : pino.destination(1))
  return pino(
    {
      level: settings.level,
      timestamp: pino.stdTimeFunctions.isoTime,
      base: null,
      redact: { paths: secretMembers.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
      serializers: { err: pino.stdSerializers.errWithCause },
    },
    stream,
  )
}
