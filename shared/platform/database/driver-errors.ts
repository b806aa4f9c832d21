/**
 * Translates errors of postgres.js and PGlite into the two errors of the database port. The original errors carry
 * parameters, and `detail` of PostgreSQL carries values of keys. Neither is kept: not as message, not as field, not as
 * cause.
 */
import { ProblemError, Unavailable } from '../problems/errors.ts'
import { Conflicted, DatabaseError, TookTooLong } from './database.ts'

/**
 * SQLSTATEs of a missing service, not of a wrong statement: connection exceptions, insufficient resources, a server
 * that shuts down, starts or has just become a standby, failures of its system, and our own time limits (57014, 25P03).
 */
const outOfService = /^(08...|53...|57P0[1-5]|580[03]0|57014|25P03|25006)$/

/** SQLSTATEs of `Conflicted`. */
const conflict = /^(40001|40P01|55P03)$/

/**
 * What Citus says, as an internal error (XX000), of a node that is away, restarts or has a shard no more, and what it
 * passes on from libpq.
 */
const awayFromNode = /connect|(to|from) server|SSL|shard|worker node|node group|(prepare|commit) transaction/i

/** Codes of a failed connection: from sockets, name resolution, TLS and the drivers themselves. */
const noConnection = /^(E[A-Z_]{3,}|CONNECT.*|ERR_(SOCKET|STREAM|TLS|SSL).*|CERT_.*|DEPTH_.*|SELF_.*|UNABLE_.*)$/

/**
 * SQLSTATE classes, and the codes of a missing permission and a missing setting or role, whose messages PostgreSQL
 * builds from names only. Messages of
 * other classes quote values ("invalid input syntax for type integer: ..."). If PostgreSQL gives a position in the
 * statement, they quote the statement.
 */
const messageWithoutValues = /^(23|25|28|3D|40|55|57|42501|42704)/

interface PostgresFields {
  readonly message: string
  readonly code: string
  readonly severity?: string
  /** postgres.js. PgBouncer sends this one alone. */
  readonly severity_local?: string
  readonly position?: unknown
  /** postgres.js */
  readonly constraint_name?: string
  /** PGlite */
  readonly constraint?: string
}

/** True for an error that PostgreSQL itself answered, from either driver, or a pooler in its name. */
const isPostgresAnswer = (error: unknown): error is PostgresFields => {
  if (!(error instanceof Error)) return false
  const { severity, severity_local: ofPooler, code } = error as Partial<PostgresFields>
  return typeof (severity ?? ofPooler) === 'string' && typeof code === 'string'
}

/** The SQLSTATE of a driver's error; undefined when the error does not come from PostgreSQL. */
export const sqlStateOf = (error: unknown): string | undefined => (isPostgresAnswer(error) ? error.code : undefined)

/**
 * The error of the port for an error of any driver. Our own errors come back unchanged. An unknown error becomes a
 * `DatabaseError` of class XX, without its message.
 */
export function translateDriverError(error: unknown): Error {
  if (error instanceof DatabaseError || error instanceof Unavailable || error instanceof ProblemError) return error
  if (isPostgresAnswer(error)) return fromPostgres(error)
  const code = codeOf(error)
  if (noConnection.test(code) || isClosedEngine(error)) return unavailable(error)
  return new DatabaseError('XX000', `the database driver failed: ${code || nameOf(error)}`)
}

/** `Unavailable` for the database. Its cause is the reason as text for the log: hosts and codes, never a parameter. */
export function unavailable(reason: unknown): Unavailable {
  if (reason instanceof Unavailable) return reason
  const text = reason instanceof Error ? reason.message || codeOf(reason) : String(reason)
  return new Unavailable('database', { cause: new Error(text) })
}

function fromPostgres(error: PostgresFields): Error {
  if (error.code === '57014') return new TookTooLong('database', { cause: new Error(`57014 ${error.message}`) })
  if (conflict.test(error.code)) return new Conflicted(error.code, error.message)
  const isAway = outOfService.test(error.code) || (error.code === 'XX000' && awayFromNode.test(error.message))
  if (isAway) return unavailable(`${error.code} ${error.message}${adviceFor(error.message)}`)
  const quotesNoValue = messageWithoutValues.test(error.code) || typeof error.position === 'string'
  const message = quotesNoValue ? error.message : 'PostgreSQL refused the statement'
  return new DatabaseError(error.code, `${message} (${error.code})`, error.constraint_name ?? error.constraint)
}

/** What to do about a refusal of PgBouncer. */
const adviceFor = (message: string): string =>
  message.startsWith('unsupported startup parameter')
    ? ': a pooler answers; add pgbouncer=true to the parameters of the URL'
    : ''

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  return typeof code === 'string' ? code : ''
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)

const isClosedEngine = (error: unknown): boolean =>
  error instanceof Error && /^PGlite is (closed|closing)/.test(error.message)
