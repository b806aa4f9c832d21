/**
 * Runs before all tests: compiles the servers, their tools and the programs of tests. A process then starts plain
 * JavaScript, which takes a third of the processor time that tsx takes to load the same files. What has not changed
 * since the last run is not compiled again.
 */
import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the compiled files, which lie in it as in the project. */
    readonly compiled: string
  }
}

const root = join(import.meta.dirname, '../../..')
const cache = join(root, 'node_modules/.cache/keyhold')
const dayMs = 86_400_000
const sources = ['auth-server', 'deal-server', 'shared', 'test/support', 'test/shared/platform/embedded']
const settings = ['start.ts', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'test/tsconfig.processes.json']

/** What the files to compile contain, in short. */
function fingerprint(): string {
  const below = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .sort()
  const hash = createHash('sha256')
  for (const file of [...sources.flatMap(below), ...settings.map((name) => join(root, name))]) {
    hash.update(`${file}\n`).update(readFileSync(file))
  }
  return hash.digest('hex').slice(0, 12)
}

/** Compiles into a folder of its own first: another run may be at it. */
function compileInto(folder: string): void {
  const unfinished = `${folder}.${randomUUID()}`
  execFileSync(process.execPath, ['scripts/build.mjs', unfinished, '-p', 'test/tsconfig.processes.json'], { cwd: root })
  if (existsSync(folder)) rmSync(unfinished, { recursive: true })
  else renameSync(unfinished, folder)
}

function removeOld(): void {
  for (const name of readdirSync(cache).filter((name) => name.startsWith('compiled-'))) {
    const folder = join(cache, name)
    if (statSync(folder).mtimeMs < Date.now() - dayMs) rmSync(folder, { recursive: true })
  }
}

/** What Vitest calls. */
export default function setup(project: TestProject): void {
  const folder = join(cache, `compiled-${fingerprint()}`)
  if (!existsSync(folder)) {
    compileInto(folder)
    removeOld()
  }
  project.provide('compiled', folder)
}
