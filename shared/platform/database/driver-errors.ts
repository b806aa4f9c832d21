/**
 * Turns what Drizzle, postgres.js and PGlite throw into the two errors of the database port. Their own errors carry the
 * parameters, and PostgreSQL's `detail` the values of keys, so neither is kept: not as message, not as field, not as cause.
 */
import { DrizzleQueryError } from 'drizzle-orm'
import { Refused, Unavailable } from '../problems/errors.ts'
import { DatabaseError } from './database.ts'

/** What `Unavailable` names when the database did not answer. */
const DEPENDENCY = 'database'

/**
 * SQLSTATEs which say that the service is missing, not that the statement is wrong: connection exceptions, insufficient
 * resources, a server that shuts down, starts or has just become a standby, and our own time limits (57014, 25P03).
 */
const OUT_OF_SERVICE = /^(08...|53...|57P0[1-5]|57014|25P03|25006)$/

/** Codes of sockets, name resolution, TLS and of the drivers themselves for a connection that is not there. */
const NO_CONNECTION = /^(E[A-Z_]{3,}|CONNECT.*|ERR_(SOCKET|STREAM|TLS|SSL).*|CERT_.*|DEPTH_.*|SELF_.*|UNABLE_.*)$/

/**
 * SQLSTATE classes, and the code of a lacking permission, whose message PostgreSQL builds from names alone. Messages of other classes quote
 * values ("invalid input syntax for type integer: ..."), unless PostgreSQL points into the text of the statement: then they quote that text.
 */
const MESSAGE_WITHOUT_VALUES = /^(23|25|28|3D|40|55|57|42501)/

interface PostgresFields {
  readonly message: string
  readonly code: string
  readonly severity: string
  readonly position?: unknown
  /** postgres.js */
  readonly constraint_name?: string
  /** PGlite */
  readonly constraint?: string
}

/** True for what PostgreSQL itself answered, as either driver throws it. */
const isPostgresAnswer = (error: unknown): error is PostgresFields =>
  error instanceof Error &&
  typeof (error as Partial<PostgresFields>).severity === 'string' &&
  typeof (error as Partial<PostgresFields>).code === 'string'

/** The SQLSTATE of an error that a driver threw; undefined when PostgreSQL had no part in it. */
export const sqlStateOf = (error: unknown): string | undefined => (isPostgresAnswer(error) ? error.code : undefined)

/**
 * The error of the port for `error`, whatever driver threw it. What is already one of ours comes back as it is.
 * What no driver is known to throw becomes a `DatabaseError` of class XX, without its message.
 */
export const translateDriverError = (error: unknown): Error => {
  if (error instanceof DatabaseError || error instanceof Unavailable || error instanceof Refused) return error
  if (error instanceof DrizzleQueryError) return translateDriverError(error.cause)
  if (isPostgresAnswer(error)) return fromPostgres(error)
  const code = codeOf(error)
  if (NO_CONNECTION.test(code) || isClosedEngine(error)) return unavailable(error)
  return new DatabaseError('XX000', `the database driver failed: ${code || nameOf(error)}`)
}

/** `Unavailable` for the database, with the text of what happened (hosts and codes, never a parameter) as cause for the log. */
export const unavailable = (reason: unknown): Unavailable => {
  if (reason instanceof Unavailable) return reason
  const text = reason instanceof Error ? reason.message || codeOf(reason) : String(reason)
  return new Unavailable(DEPENDENCY, { cause: new Error(text) })
}

const fromPostgres = (error: PostgresFields): Error => {
  if (OUT_OF_SERVICE.test(error.code)) return unavailable(`${error.code} ${error.message}`)
  const quotesNoValue = MESSAGE_WITHOUT_VALUES.test(error.code) || typeof error.position === 'string'
  const message = quotesNoValue ? error.message : 'PostgreSQL refused the statement'
  return new DatabaseError(error.code, `${message} (${error.code})`, error.constraint_name ?? error.constraint)
}

const codeOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  return typeof code === 'string' ? code : ''
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)

const isClosedEngine = (error: unknown): boolean =>
  error instanceof Error && /^PGlite is (closed|closing)/.test(error.message)
