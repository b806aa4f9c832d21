import { expect, it } from 'vitest'
import { sourceFiles } from './source.ts'

const writing = new RegExp(
  [
    /\b(insert into|delete from|update (auth|deals)\b|update \$\{\w+\})|for (no key )?update\b/,
    /\bdeals\.(commit|slice_events)\(|\bbuild\b[^;]*?\.(insert|update|delete)\(/,
  ]
    .map(({ source }) => source)
    .join('|'),
)

/** The statements that a file names: `const readSql = ...`, a text, a function that gives one, or what is built. */
function writingTexts(code: string): string[] {
  const definitions = code.matchAll(/^(?:export )?const (\w+) =(.*(?:\n(?: .*|[)\]}].*))*)/gm)
  return Array.from(definitions)
    .filter(([, , text = '']) => writing.test(text))
    .map(([, name = '']) => name)
}

/**
 * Statements that a file hands to the sessions of reads, by name or as they stand. A name that is made from another
 * one (`const use = useSql({ id })`) counts as that one.
 */
function readStatements(code: string): string[] {
  const calls = code.matchAll(
    /\.query(?:<[^(]*>)?\(\s*(?:\.\.\.(?:statementOf\(\s*)?)?(build[^;]*?\)\)|\w+|`[^`]*`|'[^'\n]*'|"[^"\n]*")/g,
  )
  return Array.from(calls, ([, statement = '']) => statement).flatMap((statement) => {
    const made = /^\w+$/.test(statement) ? code.matchAll(new RegExp(`const ${statement} =\\s*(\\w+)\\(`, 'g')) : []
    return [statement, ...Array.from(made, ([, name = '']) => name)]
  })
}

const sources = sourceFiles()
  .filter(({ path }) => /^(auth-server|deal-server|shared)\//.test(path))
  .map(({ path, lines }) => ({ path, code: lines.join('\n') }))

const wrong = (files: readonly { readonly path: string; readonly code: string }[]) => {
  const names = new Set(files.flatMap(({ code }) => writingTexts(code)))
  return files.flatMap(({ path, code }) =>
    readStatements(code)
      .filter((statement) => writing.test(statement) || (names.has(statement) && !ownReads(code).has(statement)))
      .map((statement) => `${path}: ${statement}`),
  )
}

/** Names that the file itself gives to a statement that reads. */
const ownReads = (code: string): Set<string> => {
  const all = Array.from(code.matchAll(/^(?:export )?const (\w+) =/gm), ([, name = '']) => name)
  const writes = new Set(writingTexts(code))
  return new Set(all.filter((name) => !writes.has(name)))
}

it('sends every statement that writes over the sessions of writes', () => {
  expect(sources.filter(({ code }) => writingTexts(code).length > 0).length).toBeGreaterThan(8)
  expect(wrong(sources)).toEqual([])
})

it('would notice a statement that writes over the sessions of reads', () => {
  const code = 'const useSql = `insert into auth.t values ($1)`\nawait database.query<{ id: string }>(useSql, [id])\n'
  expect(wrong([{ path: 'a.ts', code }])).toEqual(['a.ts: useSql'])
  const direct = 'await database.query(`update auth.users set name = $1`, [name])'
  expect(wrong([{ path: 'b.ts', code: direct }])).toHaveLength(1)
  const built =
    'const endSql = textOf(\n  build\n    .delete(users)\n    .where(isIt),\n)\nawait database.query(endSql, [])'
  expect(wrong([{ path: 'd.ts', code: built }])).toEqual(['d.ts: endSql'])
  const named = 'const endSql = ended.statement(build.delete(users).where(isIt))\n'
  expect(wrong([{ path: 'f.ts', code: `${named}await database.query<Row>(...endSql({ id }))` }])).toEqual([
    'f.ts: endSql',
  ])
  const made = '  const end = endSql({ id })\n  await database.query(\n    ...end,\n  )'
  expect(wrong([{ path: 'g.ts', code: `${named}${made}` }])).toEqual(['g.ts: endSql'])
  const atOnce = 'await database.query(...statementOf(build.update(users).set(name)))'
  expect(wrong([{ path: 'e.ts', code: atOnce }])).toHaveLength(1)
  const call = "await database.query('select id from deals.commit($1, $2, $3, $4, $5)', rows)"
  expect(wrong([{ path: 'c.ts', code: call }])).toHaveLength(1)
})

it('writes nothing with the query builder outside transactions', () => {
  const direct = /database\.drizzle\s*\.(insert|update|delete|transaction)\b/
  expect(sources.filter(({ code }) => direct.test(code)).map(({ path }) => path)).toEqual([])
})

it('gives parameters of statements names, and no numbers', () => {
  const numbered = sources.filter(({ code }) => /\$\d+(::|[ ),`])/.test(code))
  expect(numbered.map(({ path }) => path)).toEqual([])
})
