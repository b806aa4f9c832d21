import { createRequire } from 'node:module'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { PrettyOptions } from 'pino-pretty'
import { systemClock } from '../clock.ts'
import { Unavailable } from '../problems/errors.ts'
import { createOutput } from './log-output.ts'
import type { LogSettings } from './log-settings.ts'

/** The log of a server: a pino logger from `createLog`. */
export type Log = Logger

/** Names of members whose values are never logged, at any depth. This is the last line of defence, not the first. */
const secretMembers = [
  'authorization',
  'cookie',
  'set-cookie',
  'password',
  'token',
  'access_token',
  'refresh_token',
  'secret',
  'signature',
  'privateKeyPem',
].map((name) => name.toLowerCase())

/**
 * Opens the log of the process. An error is logged with its name, code and stack, an error of a missing dependency
 * without the stack. A database error carries no parameter (see `DatabaseError`).
 */
export function createLog(settings: LogSettings, destination?: DestinationStream): Log {
  const usePretty = (settings.format ?? (process.stdout.isTTY ? 'pretty' : 'json')) === 'pretty'
  const stream =
    destination ??
    (usePretty
      ? prettyStream({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l', singleLine: true })
      : createOutput())
  return pino(
    {
      level: settings.level,
      timestamp: createTimestamp(),
      base: settings.worker === undefined ? null : { worker: settings.worker },
      hooks: { streamWrite: withoutSecrets },
      serializers: { err: serializeError },
    },
    stream,
  )
}

/** The member `time` of a line. Lines of one millisecond share its text. */
function createTimestamp(): () => string {
  let printedAt = Number.NaN
  let printed = ''
  return () => {
    const now = systemClock.now()
    if (now !== printedAt) printed = `,"time":"${new Date(now).toISOString()}"`
    printedAt = now
    return printed
  }
}

/** Loads the package where a person reads the log: servers elsewhere do not have it in memory. */
function prettyStream(options: PrettyOptions): DestinationStream {
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  return pretty(options)
}

/** Leaves out the stack when a dependency is missing: stacks would fill the log for the whole outage. */
function serializeError(error: Error): unknown {
  const entry = pino.stdSerializers.errWithCause(error)
  return error instanceof Unavailable ? withoutStack(entry) : entry
}

type ErrorEntry = Partial<ReturnType<typeof pino.stdSerializers.errWithCause>>

function withoutStack(entry: ErrorEntry): ErrorEntry {
  delete entry.stack
  for (const inner of [entry.cause, ...(entry.aggregateErrors ?? [])]) if (inner) withoutStack(inner as ErrorEntry)
  return entry
}

const secretMember = new RegExp(`"(?:${secretMembers.join('|')})":`, 'i')

/**
 * Checks the finished line: the redaction of pino needs paths of a known depth, and costs more than the rest of a log
 * entry.
 */
function withoutSecrets(line: string): string {
  if (!secretMember.test(line)) return line
  const censor = (name: string, value: unknown) => (secretMembers.includes(name.toLowerCase()) ? '[redacted]' : value)
  return `${JSON.stringify(JSON.parse(line, censor))}\n`
}
