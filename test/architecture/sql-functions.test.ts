import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { functionFiles, migratedFunctions } from '../../scripts/sql-functions.ts'

const page = readFileSync('docs/architecture.md', 'utf8')

describe.each([
  { schema: 'auth', store: 'auth-server/store' },
  { schema: 'deals', store: 'deal-server/store' },
])('the SQL functions of the schema $schema', ({ schema, store }) => {
  const files = functionFiles(store)

  it('are, after all migrations, as their files have them', () => {
    expect(Object.fromEntries(migratedFunctions(store))).toEqual(Object.fromEntries(files))
  })

  it('are named by the page of the architecture', () => {
    expect(files.size).toBeGreaterThan(3)
    expect([...files.keys()].filter((name) => !page.includes(`\`${schema}.${name}\``))).toEqual([])
  })
})
