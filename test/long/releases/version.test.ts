import { expect, it } from 'vitest'
import { releasedVersion } from '../../support/processes/released.ts'
import { read } from '../deploy/tools.ts'

const version = (path: string) => (JSON.parse(read(path)) as { version: string }).version
const present = version('package.json')

it('has one version, wherever it is shown', () => {
  expect(version('client/package.json')).toBe(present)
  expect(version('verify/package.json')).toBe(present)
  expect(version('package-lock.json')).toBe(present)
  expect(read('client/README.md')).toContain(`keyhold-client-${present}.tgz`)
  expect(read('verify/README.md')).toContain(`keyhold-verify-${present}.tgz`)
  expect(read('docs/webhooks.md')).toContain(`User-Agent: Keyhold/${present}`)
})

it('has a section of the present version in the changelog, and behind it that of the release in the archive', () => {
  const changelog = read('CHANGELOG.md')
  const sections = [...changelog.matchAll(/^## \[(.+)\] - (\d{4}-\d\d-\d\d|unreleased)$/gm)]
  expect(sections.slice(0, 2).map(([, name]) => name)).toEqual([present, releasedVersion])
  expect(sections[1]?.[2]).not.toBe('unreleased')
})
