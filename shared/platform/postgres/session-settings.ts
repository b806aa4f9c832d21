/**
 * Settings of every session at PostgreSQL. They are sent when a session begins, so they win over those of the role, the
 * database and the server.
 */

/** Settings that poolers set for each transaction. Every one of them takes these at the start of a session. */
const everywhere: Readonly<Record<string, string>> = {
  datestyle: 'ISO, MDY',
  timezone: 'UTC',
  standard_conforming_strings: 'on',
}

/** Settings of a session with PostgreSQL itself. A pooler refuses them. */
const withoutPooler: Readonly<Record<string, string>> = {
  // The form of answers.
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  xmloption: 'content',
  xmlbinary: 'base64',
  lc_monetary: 'C',
  lc_numeric: 'C',
  lc_time: 'C',
  // The meaning of statements.
  search_path: '"$user", public',
  array_nulls: 'on',
  transform_null_equals: 'off',
  backslash_quote: 'safe_encoding',
  row_security: 'on',
  check_function_bodies: 'on',
  gin_fuzzy_search_limit: '0',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  default_transaction_deferrable: 'off',
  // A warning tells of a commit that did not wait for its standby.
  client_min_messages: 'notice',
  exit_on_error: 'off',
  lock_timeout: '0',
  idle_session_timeout: '0',
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
}

/** True for a setting that a URL cannot change. */
export const isOfEverySession = (name: string): boolean => {
  const lower = name.toLowerCase()
  return lower in everywhere || lower in withoutPooler
}

interface SessionKind {
  /** A pooler is in between. */
  readonly isPooled: boolean
  /** Servers on which transactions only read by default are not used: the setting of the server must be seen. */
  readonly seesReadOnly: boolean
  /** The longest wait of a caller, in milliseconds. The limits of the PostgreSQL server are derived from it. */
  readonly responseTimeoutMs: number
}

/**
 * The settings of a session. PostgreSQL ends its statements after four fifths of the longest wait of a caller, so that
 * a slow statement differs from a silent server.
 */
export function sessionSettings({ isPooled, seesReadOnly, responseTimeoutMs }: SessionKind) {
  if (isPooled) return everywhere
  const settings: Record<string, string> = {
    ...everywhere,
    ...withoutPooler,
    statement_timeout: String(Math.round(responseTimeoutMs * 0.8)),
    idle_in_transaction_session_timeout: String(responseTimeoutMs * 2),
  }
  if (seesReadOnly) delete settings.default_transaction_read_only
  return settings
}

/**
 * Settings on which rows would go wrong, and their values. No session can set the first one unless the role may do
 * everything; behind a pooler the servers set none of them.
 */
const decisive: Readonly<Record<string, RegExp>> = {
  session_replication_role: /^origin$/,
  default_transaction_isolation: /^read committed$/,
  default_transaction_read_only: /^off$/,
  client_min_messages: /^(?!error)/,
  exit_on_error: /^off$/,
}

/** The names of those settings, as a list in SQL. */
export const decisiveNames = Object.keys(decisive)
  .map((name) => `'${name}'`)
  .join(', ')

/** Those of the settings that have a wrong value, for a sentence. */
export const wrongSettings = (settings: Readonly<Record<string, string>>): string[] =>
  Object.entries(settings)
    .filter(([name, value]) => !decisive[name]?.test(value))
    .map(([name, value]) => `${name} = ${value}`)
