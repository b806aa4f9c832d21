import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { besideCode } from '../../../scripts/compile.mjs'

const root = join(import.meta.dirname, '../../..')
const execute = promisify(execFile)
let project: string

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(project, path)), { recursive: true })
  writeFileSync(join(project, path), text)
}

const run = async (...parameters: string[]): Promise<string> =>
  (await execute(process.execPath, [join(project, 'scripts/run.mjs'), ...parameters])).stdout.trim()

const cache = () => join(project, 'node_modules/.cache/keyhold')
const compiledFolders = (): string[] => readdirSync(cache()).filter((name) => name.startsWith('compiled-'))

const source = (word: string) => `
import { word } from './shared/word.ts'
const also: string = '${word}'
console.log(word, also, process.argv.slice(2).join())
`

/** A project of a few lines with the real scripts. */
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'keyhold-run-'))
  cpSync(join(root, 'scripts'), join(project, 'scripts'), { recursive: true })
  for (const name of ['main.ts', 'cli/main.ts', 'cli/offline/init-secrets.ts'])
    write(`auth-server/${name}`, 'export {}')
  for (const path of ['deal-server/main.ts', 'cli/main.ts', 'client/src/index.ts', 'verify/src/index.ts'])
    write(path, 'export {}')
  for (const path of besideCode) write(path.endsWith('/') ? `${path}file` : path, '')
  write('shared/word.ts', "export const word: string = 'first'")
  write('start.ts', source('one'))
  write('package.json', '{ "name": "few-lines", "type": "module" }')
  write('package-lock.json', '{ "packages": {} }')
  mkdirSync(join(project, 'node_modules'))
  for (const name of ['esbuild', 'tsx']) {
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
  }
})
afterEach(() => rmSync(project, { recursive: true, force: true }))

describe('a program that is run', () => {
  it('is compiled once, and again when a file that it imports has changed', async () => {
    expect(await run('start.ts', 'a', '--b')).toBe('first one a,--b')
    expect(await run('start.ts')).toBe('first one')
    expect(compiledFolders().length).toBe(1)
    write('shared/word.ts', "export const word: string = 'second'")
    expect(await run('start.ts')).toBe('second one')
    write('start.ts', source('two'))
    expect(await run('start.ts')).toBe('second two')
    expect(compiledFolders().length).toBe(3)
  })

  it('has a copy of its own below DATA_DIR as a server, with the machine code of its threads', async () => {
    write('start.ts', 'console.log(import.meta.dirname)')
    write('node_modules/@node-rs/argon2/index.js', '')
    const dataDir = join(project, 'a folder/data')
    const { stdout } = await execute(process.execPath, [join(project, 'scripts/run.mjs'), 'start.ts'], {
      env: { ...process.env, DATA_DIR: dataDir },
    })
    const [compiled = ''] = compiledFolders()
    const own = join(dataDir, 'programs', compiled)
    expect(stdout.trim()).toBe(own)
    rmSync(cache(), { recursive: true })
    rmSync(join(project, 'node_modules/@node-rs'), { recursive: true })
    expect(existsSync(join(own, 'node_modules/@node-rs/argon2/index.js'))).toBe(true)
    expect(existsSync(join(own, 'users'))).toBe(true)
  })

  it('runs while others compile the same', async () => {
    expect(await Promise.all([1, 2, 3].map((each) => run('start.ts', `${each}`)))).toEqual(
      [1, 2, 3].map((each) => `first one ${each}`),
    )
    expect(compiledFolders().length).toBe(1)
  })

  it('leaves nothing behind when it cannot be compiled', async () => {
    write('start.ts', 'const =')
    await expect(run('start.ts')).rejects.toThrow('start.ts')
    expect(compiledFolders()).toEqual([])
  })

  it.skipIf(!existsSync('/sys'))('runs from its source where nothing can be written', async () => {
    symlinkSync('/sys', join(project, 'node_modules/.cache'))
    expect(await run('start.ts', 'a')).toBe('first one a')
  })

  it('removes what no process has used for a day', async () => {
    const yesterday = new Date(Date.now() - 90_000_000)
    const users = { 'compiled-used': process.pid, 'compiled-unused': 2 ** 22 + 1 }
    for (const [name, pid] of Object.entries(users)) {
      write(`node_modules/.cache/keyhold/${name}/users/${pid}`, '')
      utimesSync(join(cache(), name), yesterday, yesterday)
    }
    write('node_modules/.cache/keyhold/compiled-new/start.js', '')
    await run('start.ts')
    expect(compiledFolders()).toEqual(expect.arrayContaining(['compiled-new', 'compiled-used']))
    expect(compiledFolders()).not.toContain('compiled-unused')
  })

  it('runs when another process has just removed a compiled form', async () => {
    mkdirSync(cache(), { recursive: true })
    symlinkSync(join(cache(), 'nothing'), join(cache(), 'compiled-gone'))
    expect(await run('start.ts')).toBe('first one')
  })
})
