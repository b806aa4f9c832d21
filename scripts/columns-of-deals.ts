/**
 * Writes the columns of `deals.deals` into the functions that name them all: `functions/commit.sql`, and the one that
 * `deploy/citus` has in its place. A part of `npm run migrations`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { getTableColumns } from 'drizzle-orm'
import { deals } from '../deal-server/store/schema.ts'

const all = Object.values(getTableColumns(deals)).map(({ name }) => name)
const changing = all.filter((name) => name !== 'id' && name !== 'bucket')

/** Names with commas between, on lines of at most 120 columns. */
function lines(names: readonly string[], indent: number): string {
  const margin = ' '.repeat(names[0]?.startsWith('SELECT ') ? indent + 2 : indent)
  let [text, line] = ['', ' '.repeat(indent)]
  for (const [index, name] of names.entries()) {
    const part = index < names.length - 1 ? `${name},` : name
    if (line.trim() !== '' && line.length + 1 + part.length > 120) {
      text += `${line}\n`
      line = margin
    }
    line += line.trim() === '' ? part : ` ${part}`
  }
  return text + line
}

/** A list in a file: what is before it, behind it, and its items. */
interface List {
  readonly before: RegExp
  readonly behind: RegExp
  readonly items: readonly string[]
  readonly indent: number
}

function fill(path: string, lists: readonly List[]): void {
  let text = readFileSync(path, 'utf8')
  for (const { before, behind, items, indent } of lists) {
    const begin = before.exec(text)
    if (!begin) throw new Error(`${path} has no ${before.source}`)
    const from = begin.index + begin[0].length
    const length = behind.exec(text.slice(from))?.index
    if (length === undefined) throw new Error(`${path} has no ${behind.source}`)
    const present = text.slice(from, from + length).split(',')
    if (present.map((item) => item.trim()).join() === items.join()) continue
    text = `${text.slice(0, from)}${lines(items, indent)}${text.slice(from + length)}`
  }
  writeFileSync(path, text)
}

fill('deal-server/store/functions/commit.sql', [
  { before: /UPDATE deals\.deals d SET \(\n/, behind: /\n {4}\) = \(/, items: changing, indent: 6 },
  {
    before: /\) = \(\n(?= {6}SELECT r\.)/,
    behind: /\n {6}FROM json_populate_record/,
    items: changing.map((name, index) => (index === 0 ? `SELECT r.${name}` : `r.${name}`)),
    indent: 6,
  },
])

const [bucket, ...others] = ['bucket', ...all.filter((name) => name !== 'bucket')]
fill('deploy/citus/distribute.sql', [
  { before: /insert into deals\.deals \(\n/, behind: /\n {6}\) values \(/, items: [bucket, ...others], indent: 8 },
  {
    before: /\) values \(\n(?= {8}wanted\.bucket)/,
    behind: /\n {6}\);/,
    items: [`wanted.${bucket}`, ...others.map((name) => `d.${name}`)],
    indent: 8,
  },
  {
    before: /update deals\.deals s set\n/,
    behind: /\n {6}where s\.bucket/,
    items: changing.map((name) => `${name} = d.${name}`),
    indent: 8,
  },
])
