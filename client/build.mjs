// Builds the package: one module without dependencies, and its types, which come from the documents of the servers.
// `npm run build:client`, and `npm pack` here.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { declarationsBelow, packageFolder, runNode, writeDeclarations } from '../scripts/build-package.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const dist = join(here, 'dist')
const maxBytes = 15_700

/** Packages whose types are in ours. They go into the package, which then depends on nothing. */
const typesOf = {
  'openapi-fetch': 'dist/index.d.mts',
  'openapi-typescript-helpers': 'dist/index.d.ts',
}

rmSync(dist, { recursive: true, force: true })
const options = { absWorkingDir: here, entryPoints: ['src/index.ts'], bundle: true, format: 'esm', target: 'es2022' }
await build({ ...options, platform: 'neutral', outfile: 'dist/index.js', sourcemap: 'linked', legalComments: 'inline' })
writeTypes()
const sizes = {
  'createKeyhold and bearer': await minified("export { createKeyhold, bearer } from './src/index.ts'"),
  everything: await minified("export * from './src/index.ts'"),
}
for (const [what, { length, packed }] of Object.entries(sizes)) {
  console.log(`keyhold-client, ${what}: ${length} bytes minified, ${packed} after gzip.`)
}
const [{ length }] = Object.values(sizes)
if (length > maxBytes) {
  console.error(`A page with one scheme loads ${length} bytes; at most ${maxBytes} are allowed.`)
  process.exit(1)
}

/** What a page loads that takes this much of the client. */
async function minified(contents) {
  const { entryPoints: _all, ...others } = options
  const stdin = { contents, resolveDir: here, loader: 'ts' }
  const { outputFiles } = await build({ ...others, stdin, platform: 'browser', minify: true, write: false })
  const [{ contents: code }] = outputFiles
  return { length: code.length, packed: gzipSync(code).length }
}

function writeTypes() {
  runNode('--import', 'tsx', 'scripts/client-types/types.mjs')
  writeDeclarations(here)
  for (const [name, file] of Object.entries(typesOf)) {
    const folder = packageFolder(name)
    const target = join(dist, 'types', name)
    mkdirSync(target, { recursive: true })
    cpSync(join(folder, file), join(target, 'index.d.ts'))
    cpSync(join(folder, 'LICENSE'), join(target, 'LICENSE'))
  }
  for (const file of declarationsBelow(dist)) writeFileSync(file, withOwnPlaces(file, readFileSync(file, 'utf8')))
}

/** Imports lead to files of this package, by the names that they have there. */
function withOwnPlaces(file, text) {
  const placeOf = (name) => {
    const path = relative(dirname(file), join(dist, 'types', name, 'index.js'))
    return path.startsWith('.') ? path : `./${path}`
  }
  return text
    .replace(/(from |import\()(['"])([^'"]+)\2/g, (whole, before, quote, name) => {
      if (name in typesOf) return before + quote + placeOf(name) + quote
      return name.startsWith('.') ? before + quote + name.replace(/\.ts$/, '.js') + quote : whole
    })
    .replace(/^\/\/# sourceMappingURL.*$/m, '')
}
