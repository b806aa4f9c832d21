import { expect, it } from 'vitest'
import { read } from '../deploy/tools.ts'
import { releasedVersion } from '../support/processes/released.ts'

const version = (path: string) => (JSON.parse(read(path)) as { version: string }).version
const present = version('package.json')

it('has one version, wherever it is shown', () => {
  expect(version('client/package.json')).toBe(present)
  expect(version('package-lock.json')).toBe(present)
  expect(read('client/README.md')).toContain(`keyhold-client-${present}.tgz`)
  expect(read('docs/webhooks.md')).toContain(`User-Agent: Keyhold/${present}`)
})

it('has sections of the present version and of the release in the archive in the changelog, in this order', () => {
  const changelog = read('CHANGELOG.md')
  const sections = [...changelog.matchAll(/^## \[(.+?)\](?: - \d{4}-\d\d-\d\d)?$/gm)].map(([, name]) => name)
  expect(sections.slice(0, 3)).toEqual(['Unreleased', present, releasedVersion])
})

// So it refuses the servers of 0.2.0, which are the release before: docs/releasing.md#rules-for-changes.
it('keeps the servers of another version than that of package.json', () => {
  expect(releasedVersion).not.toBe(present)
})
