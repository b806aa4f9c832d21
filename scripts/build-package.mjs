// What the builds of packages share: running the compiler of types, and finding packages and declarations.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)

/**
 * Runs Node.js in the folder of the project, and ends this process where it fails.
 * @param {...string} parameters
 */
export function runNode(...parameters) {
  const { status } = spawnSync(process.execPath, parameters, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

/**
 * Writes the declarations of a project.
 * @param {string} project the folder of its `tsconfig.json`
 * @param {...string} parameters further ones of the compiler
 */
export const writeDeclarations = (project, ...parameters) =>
  runNode(join(dirname(require.resolve('typescript/package.json')), 'bin/tsc'), '-p', project, ...parameters)

/**
 * The declarations below a folder.
 * @param {string} folder
 */
export const declarationsBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.d.ts'))
    .map(({ parentPath, name }) => join(parentPath, name))

/**
 * The folder of a package, which may not export its package.json.
 * @param {string} name
 */
export function packageFolder(name) {
  const [found = ''] = (require.resolve.paths(name) ?? []).filter((folder) => {
    try {
      return readdirSync(join(folder, name)).includes('package.json')
    } catch {
      return false
    }
  })
  return join(found, name)
}
