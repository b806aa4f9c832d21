/** Programs that check the files of `deploy/`. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of the project. */
export const root = join(import.meta.dirname, '../../..')

/** The text of a file of the project. */
export const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Whether a program can be started here. Where `CI` is set, it is taken for granted: without it, its tests fail. */
export const hasProgram = (name: string, isDemanded = true): boolean =>
  (isDemanded && process.env.CI !== undefined) || spawnSync('which', [name]).status === 0

/** Runs a program in the folder of the project; what it writes comes with its exit code. */
export function run(name: string, parameters: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, ...environment }
  const { status, stdout, stderr } = spawnSync(name, parameters, { cwd: root, encoding: 'utf8', env })
  return { status, output: `${stdout}${stderr}`, stdout }
}
