import { execFile } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../../..')
const execute = promisify(execFile)
let project: string

const locked = {
  '': {},
  'node_modules/server': { version: '1.0.0' },
  'node_modules/tool': { version: '2.0.0', dev: true },
  'node_modules/machine-code': { version: '3.0.0', optional: true },
}

/** A project with the real script and an npm that only writes down how it is called. */
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'keyhold-install-'))
  mkdirSync(join(project, 'scripts'))
  cpSync(join(root, 'scripts/ensure-installed.mjs'), join(project, 'scripts/ensure-installed.mjs'))
  writeFileSync(join(project, 'package-lock.json'), JSON.stringify({ packages: locked }))
  mkdirSync(join(project, 'bin'))
  writeFileSync(
    join(project, 'bin/npm'),
    `#!/bin/sh\necho "$@" >> '${join(project, 'calls')}'\npwd > '${join(project, 'place')}'\n`,
  )
  chmodSync(join(project, 'bin/npm'), 0o755)
})
afterEach(() => rmSync(project, { recursive: true, force: true }))

function install(...paths: readonly (keyof typeof locked)[]): void {
  const packages = Object.fromEntries(paths.map((path) => [path, locked[path]]))
  mkdirSync(join(project, 'node_modules'), { recursive: true })
  writeFileSync(join(project, 'node_modules/.package-lock.json'), JSON.stringify({ packages }))
}

/** How npm was called; empty when nothing was missing. */
async function callsOf(withTools: boolean, folder?: string): Promise<string> {
  writeFileSync(join(project, 'calls'), '')
  const options = JSON.stringify({ withTools, folder })
  const code = `import { ensureInstalled } from './scripts/ensure-installed.mjs'; ensureInstalled(${options})`
  const isPlain = withTools && folder === undefined
  const parameters = isPlain ? ['scripts/ensure-installed.mjs'] : ['--input-type=module', '-e', code]
  const env = { ...process.env, PATH: `${join(project, 'bin')}${delimiter}${process.env.PATH}` }
  await execute(process.execPath, parameters, { cwd: project, env })
  return readFileSync(join(project, 'calls'), 'utf8').trim()
}

describe('what is missing', () => {
  it('is installed without the tools for a start, and with them for the tests', async () => {
    expect(await callsOf(false)).toBe('ci --omit=dev --ignore-scripts --no-audit --no-fund')
    expect(await callsOf(true)).toBe('ci --include=dev --ignore-scripts --no-audit --no-fund')
  })

  it('is only the tools after a start', async () => {
    install('node_modules/server')
    expect(await callsOf(false)).toBe('')
    expect(await callsOf(true)).toContain('--include=dev')
  })

  it('is nothing after the tests, and an update keeps the tools', async () => {
    install('node_modules/server', 'node_modules/tool')
    expect([await callsOf(false), await callsOf(true)]).toEqual(['', ''])
    install('node_modules/tool')
    expect(await callsOf(false)).toContain('--include=dev')
  })

  it('is what a folder with a lock file of its own needs, and is installed there', async () => {
    install('node_modules/server', 'node_modules/tool')
    mkdirSync(join(project, 'tools/node_modules'), { recursive: true })
    writeFileSync(join(project, 'tools/package-lock.json'), JSON.stringify({ packages: locked }))
    expect(await callsOf(true)).toBe('')
    expect(await callsOf(true, 'tools/')).toContain('--include=dev')
    expect(readFileSync(join(project, 'place'), 'utf8')).toMatch(/\/tools\n$/)
  })
})
