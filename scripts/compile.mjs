// Compiles TypeScript files, each with all that it imports, into plain JavaScript. A dozen files replace hundreds of
// modules: Node.js loads them in a third of the time.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** The folder of the project. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** The programs of the project: servers and operators' tools. */
export const programs = [
  'start.ts',
  'auth-server/main.ts',
  'deal-server/main.ts',
  'auth-server/cli/main.ts',
  'auth-server/cli/offline/init-secrets.ts',
  'cli/main.ts',
]

/** What the programs read at run time; it is in the output where it is in the project. */
export const besideCode = [
  'auth-server/passwords/common-passwords.bin',
  'auth-server/store/migrations/',
  'deal-server/store/migrations/',
  'console/assets/',
  'shared/server/html/assets/',
  'shared/platform/crypto/argon2-thread.mjs',
]

/** Packages with files of their own, which stay in node_modules: machine code, the embedded database. */
const external = ['@node-rs/argon2', '@electric-sql/pglite']

/** Packages in the form of CommonJS that are put into a module need these names. */
const names = `
import { createRequire as createRequireOfModule } from 'node:module'
const require = createRequireOfModule(import.meta.url)
`

/**
 * Compiles `entryPoints` into `folder`, where `a/b.ts` becomes `a/b.js`. Types are not checked.
 * @param {string} folder
 * @param {readonly string[]} entryPoints
 * @param {{ from?: string, isSmall?: boolean, files?: readonly string[], outside?: readonly string[] }} options
 * `from`: the folder of the sources; `isSmall`: as few bytes as possible, without what debugging needs; `files`: what
 * is copied beside the code; `outside`: further packages that stay in node_modules
 */
export async function compile(folder, entryPoints = programs, options = {}) {
  const { from = root, isSmall = false, files = besideCode, outside = [] } = options
  await build({
    absWorkingDir: from,
    entryPoints: [...entryPoints],
    outdir: folder,
    outbase: '.',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    jsx: 'automatic',
    jsxImportSource: 'hono/jsx',
    external: [...external, ...outside],
    banner: { js: names },
    minify: isSmall,
    sourcemap: isSmall ? false : 'linked',
    sourcesContent: false,
    logLevel: 'warning',
  })
  for (const path of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(from, path), join(folder, path), { recursive: true })
  }
  const { name, version, type, engines } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
  const own = { name, version, private: true, type, engines }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(own, null, 2)}\n`)
}
