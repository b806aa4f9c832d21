import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')

it('names the versions of Node.js under which .ci/run starts the servers', () => {
  const [, versions = ''] = /^other_nodes='([\d ]+)'$/m.exec(read('.ci/run')) ?? []
  expect(versions.split(' ')).toEqual(['22', '24', '26'])
  const named = versions.replaceAll(' ', ', ').replace(/, (\d+)$/, ' and $1')
  for (const page of ['README.md', 'CONTRIBUTING.md']) expect(read(page).replaceAll('\n', ' ')).toContain(named)
})
