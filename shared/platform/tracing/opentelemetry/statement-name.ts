/** The operation and the table of an SQL statement, as far as its text says them. */
export interface StatementName {
  /** In upper case, such as `SELECT`. */
  readonly operation: string
  /** Such as `sales.orders`; undefined for a statement without a table. */
  readonly table: string | undefined
  /** Such as `sales.close`: a statement that only calls this function. */
  readonly procedure?: string
}

const table = '"?([a-z_][a-z0-9_]*)"?\\."?([a-z_][a-z0-9_]*)"?'
const writing = new RegExp(`\\b(insert) into ${table}|\\b(update) ${table}|\\b(delete) from ${table}`, 'i')
const reading = new RegExp(`\\b(?:from|join) ${table}`, 'i')
const calling = new RegExp(`^\\s*select [a-z_*]+ from ${table}\\(`, 'i')
const innermost = /\([^()]*\)/g
const firstWord = /^\s*([a-z]+)/i

/**
 * Names a statement by its first write, also one that is part of a query; otherwise by the first table that it reads,
 * one outside of subqueries before all others. Nothing else of the text is used: no value can get into the name.
 */
export function nameOfStatement(text: string): StatementName {
  const call = calling.exec(text)
  if (call) return { operation: 'SELECT', table: undefined, procedure: `${call[1]}.${call[2]}` }
  const write = writing.exec(text)
  if (write) {
    const [operation = '', schema, name] = write.slice(1).filter((part) => part !== undefined)
    return { operation: operation.toUpperCase(), table: `${schema}.${name}` }
  }
  const read = reading.exec(outermost(text)) ?? reading.exec(text)
  if (read) return { operation: 'SELECT', table: `${read[1]}.${read[2]}` }
  return { operation: firstWord.exec(text)?.[1]?.toUpperCase() ?? 'OTHER', table: undefined }
}

/** The text without what stands in parentheses. */
function outermost(text: string): string {
  for (let rest = text; ; ) {
    const next = rest.replace(innermost, '')
    if (next === rest) return rest
    rest = next
  }
}
