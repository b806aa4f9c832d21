import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const page = read('docs/security.md')

const state = z.enum(['met', 'in part', 'not met', 'not applicable'])
const row = z.strictObject({
  requirement: z.string().regex(/^\d+\.\d+\.\d+$/),
  level: z.enum(['1', '2']),
  about: z.string().min(1),
  state,
  here: z.string(),
  tests: z.string().transform((files) => files.split(' ').filter((file) => file !== '')),
})

/** The rows of the requirements. */
const rows = z.array(row).parse(parse(read('docs/asvs.csv'), { columns: true }))

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

describe('docs/asvs.csv', () => {
  it('has a row for each requirement of levels 1 and 2, once', () => {
    const ids = rows.map(({ requirement }) => requirement)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
    const counts = Object.keys(requirements).map((chapter) => [
      chapter,
      ids.filter((id) => id.startsWith(`${chapter}.`)).length,
    ])
    expect(Object.fromEntries(counts)).toEqual(requirements)
  })

  it('says of each why it is not met, or how', () => {
    expect(rows.filter(({ state, here }) => state !== 'met' && here === '')).toEqual([])
    expect(rows.filter(({ here, tests }) => here === '' && tests.length === 0)).toEqual([])
  })

  it('is counted by docs/security.md as it is', () => {
    const [met, part, not, none] = state.options.map((how) => rows.filter((one) => one.state === how).length)
    expect(page.replace(/\n/g, ' ')).toContain(`${met} are met, ${part} in part, ${not} not, ${none} do not apply`)
  })

  it('names test files that there are, and pages that there are', () => {
    const tests = rows.flatMap((one) => one.tests)
    expect(tests.length).toBeGreaterThan(100)
    expect(tests.filter((file) => !existsSync(join(root, file)))).toEqual([])
    const named = rows.flatMap(({ here }) => Array.from(here.matchAll(/\((docs\/[^)#]+)/g), ([, file = '']) => file))
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })
})

it('README and SECURITY.md lead to it', () => {
  expect(read('README.md')).toContain('(docs/security.md)')
  expect(read('README.md')).toContain('(SECURITY.md)')
  expect(read('SECURITY.md')).toContain('(docs/security.md)')
})
