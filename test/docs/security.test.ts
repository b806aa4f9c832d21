import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { partsOf, wholePage } from './markdown.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const page = wholePage('security.md')

/** The rows of the requirements. */
const rows = page
  .split('\n')
  .map((line) => /^\| (\d+)\.(\d+)\.(\d+) \| ([12]) \| .+ \| (.+) \|$/.exec(line))
  .filter((row) => row !== null)

/** How many requirements of levels 1 and 2 each chapter of ASVS 5.0.0 has that can apply. */
const requirements = {
  1: 27,
  2: 11,
  3: 19,
  4: 10,
  6: 35,
  7: 18,
  8: 7,
  9: 7,
  10: 29,
  11: 14,
  12: 9,
  13: 13,
  14: 9,
  15: 13,
  16: 16,
}

describe('docs/security.md', () => {
  it('has a row for each requirement of levels 1 and 2, once', () => {
    const ids = rows.map(([, ...parts]) => parts.slice(0, 3).join('.'))
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
    const counts = Object.keys(requirements).map((chapter) => [
      chapter,
      ids.filter((id) => id.startsWith(`${chapter}.`)).length,
    ])
    expect(Object.fromEntries(counts)).toEqual(requirements)
  })

  it('says of each how it stands, and why where it is not met', () => {
    for (const [line, , , , , stands = ''] of rows) {
      expect(stands, line).toMatch(
        /^(met|\*\*in part\*\*: \S.*|\*\*not met\*\*: \S.*|not applicable: \S.*|met[:;] \S.*)$/,
      )
    }
  })

  it('counts them as they are', () => {
    const count = (how: string): number => rows.filter(([, , , , , stands = '']) => stands.startsWith(how)).length
    const counts = [count('met'), count('**in part'), count('**not met'), count('not applicable')]
    expect(page).toContain(`${counts[0]} are met, ${counts[1]} in part, ${counts[2]} not, ${counts[3]} do not apply`)
  })

  it('names test files that there are, and files it leads to', () => {
    const tests = [...page.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file)
    expect(tests.length).toBeGreaterThan(100)
    expect(tests.filter((file) => !existsSync(join(root, file)))).toEqual([])
    const links = partsOf('security.md').flatMap((part) =>
      Array.from(read(`docs/${part}`).matchAll(/\]\(([^)#]+)/g), ([, link = '']) => join('docs', part, '..', link)),
    )
    expect(links.length).toBeGreaterThan(10)
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([])
  })
})

it('README and SECURITY.md lead to it', () => {
  expect(read('README.md')).toContain('(docs/security.md)')
  expect(read('README.md')).toContain('(SECURITY.md)')
  expect(read('SECURITY.md')).toContain('(docs/security.md)')
})
