/** The words that docs/glossary.md writes as code under "do not say" are in no name of the source. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type SourceFile, sourceFiles } from './source.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/glossary.md'), 'utf8')

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

it('are words that no name in the source has', () => {
  expect(banned.size).toBeGreaterThan(5)
  expect(sourceFiles().flatMap(bannedNames)).toEqual([])
})

it('are found in the middle of a name', () => {
  const file = { path: 'a.ts', code: 'const lastMoment = 1\nconst { guess_count, momentum } = x' } as SourceFile
  expect(bannedNames(file)).toEqual(['a.ts: lastMoment', 'a.ts: guess_count'])
})
