/**
 * The words that docs/glossary.md writes as code under "do not say" are in no name of the source, and those that its
 * part on English writes as code under "not" are in no comment, text or page.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type SourceFile, sourceFiles } from './source.ts'

const root = join(import.meta.dirname, '../..')
const [page = '', english = ''] = readFileSync(join(root, 'docs/glossary.md'), 'utf8').split('## English')

/** The pages beside the source and below docs/. The changelog is history. */
const pagePaths = (): string[] =>
  ['.', 'docs', 'bench', 'client', 'verify', 'deploy', 'examples', 'auth-server', 'deal-server', 'shared'].flatMap(
    (top) =>
      readdirSync(join(root, top), { recursive: top !== '.', encoding: 'utf8' })
        .filter((name) => name.endsWith('.md') && !/node_modules|CHANGELOG|upgrade|glossary/.test(name))
        .map((name) => join(top, name)),
  )

/** In a table, the last cell of each row; what stands in parentheses is an exception, and no word of the list. */
const doNotSay = [...page.matchAll(/^\|.*\|([^|]*)\|$/gm)].map(([, cell = '']) => cell.replace(/\(.*?\)/g, ''))
const banned = new Set(
  doNotSay.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, word = '']) => word.toLowerCase())),
)

/** The words of a name: `tellTheWorld` has three. */
const wordsOf = (name: string): string[] => name.split(/(?=[A-Z])|_/).map((word) => word.toLowerCase())

const bannedNames = ({ path, code }: SourceFile): string[] =>
  [...new Set(code.match(/[A-Za-z_]\w*/g))]
    .filter((name) => wordsOf(name).some((word) => banned.has(word)))
    .map((name) => `${path}: ${name}`)

const lastCellsOf = (text: string): string[] =>
  Array.from(text.matchAll(/^\|.*\|([^|]*)\|$/gm), ([, cell = '']) => cell)

/** "There is none", "stands for" and "as it stands" are English. */
const retired = new RegExp(
  `(?<!\\bthere |\\bas (?:it|they) )\\b(?:${lastCellsOf(english)
    .flatMap((cell) => Array.from(cell.matchAll(/`([\w ]+)`/g), ([, word = '']) => word))
    .join('|')})\\b(?! for\\b| in for\\b)`,
  'gi',
)

/** Where a text has a retired word. A sentence may go on in the next line of a comment. */
const retiredIn = ({ path, text }: { readonly path: string; readonly text: string }): string[] =>
  Array.from(text.replace(/\s*\n\s*(?:\*|\/\/)? */g, ' ').matchAll(retired), ({ index, input, 0: word }) => {
    return `${path}: ${word} in "${input.slice(Math.max(0, index - 30), index + 40)}"`
  })

it('are words that no name in the source has', () => {
  expect(banned.size).toBeGreaterThan(5)
  expect(sourceFiles().flatMap(bannedNames)).toEqual([])
})

it('are found in the middle of a name', () => {
  const file = { path: 'a.ts', code: 'const lastMoment = 1\nconst { guess_count, momentum } = x' } as SourceFile
  expect(bannedNames(file)).toEqual(['a.ts: lastMoment', 'a.ts: guess_count'])
})

it('are words that no comment, text or page has', () => {
  const texts = [
    ...sourceFiles().map(({ path, lines }) => ({ path, text: lines.join('\n') })),
    ...pagePaths().map((path) => ({
      path,
      text: readFileSync(join(root, path), 'utf8').replace(/^```.*?^```$/gms, ''),
    })),
  ]
  expect(texts.length).toBeGreaterThan(500)
  expect(texts.flatMap(retiredIn)).toEqual([])
})

it.each([
  ['a file that is none', ['a.ts: is none in "a file that is none"']],
  ['it says so:\n * meanwhile all wait', ['a.ts: meanwhile in "it says so: meanwhile all wait"']],
  ['there is none; it stands\n * for a user; as it stands; the header', []],
])('are found in sentences: %s', (text, found) => {
  expect(retiredIn({ path: 'a.ts', text })).toEqual(found)
})
