// Builds the package: modules without dependencies, the types of what users see, and the licences of what is in them.
// `npm run build:verify`, and `npm pack` here.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { packageFolder, writeDeclarations } from '../scripts/build-package.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const dist = join(here, 'dist')
const entryPoints = ['index', 'adapters/hono', 'adapters/express', 'adapters/fastify']

rmSync(dist, { recursive: true, force: true })
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: entryPoints.map((name) => `src/${name}.ts`),
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: 'linked',
  sourcesContent: false,
  metafile: true,
  legalComments: 'none',
})
writeTypes()
const bundled = writeLicences()
const bytes = Object.entries(metafile.outputs).reduce(
  (sum, [name, { bytes: more }]) => sum + (/\.js$/.test(name) ? more : 0),
  0,
)
console.log(`keyhold-verify: ${bytes} bytes, with ${bundled.join(', ')}.`)

/** The declarations that users can reach from the modules that they import: the inside stays inside. */
function writeTypes() {
  const all = mkdtempSync(join(tmpdir(), 'keyhold-verify-'))
  writeDeclarations(here, '--outDir', all)
  const source = join(all, 'verify/src')
  const reached = new Set(entryPoints.map((name) => join(source, `${name}.d.ts`)))
  for (const file of reached) {
    const text = readFileSync(file, 'utf8')
    for (const [, name = ''] of text.matchAll(/from '(\.[^']+)\.ts'/g)) reached.add(join(dirname(file), `${name}.d.ts`))
    const target = join(dist, relative(source, file))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text.replace(/(from '\.[^']+)\.ts'/g, "$1.js'"))
  }
  rmSync(all, { recursive: true })
}

/** Writes the licences of the packages whose code is in the modules, and gives the names of the packages. */
function writeLicences() {
  const inputs = Object.keys(metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1])
  const names = [...new Set(inputs)].filter((name) => name !== undefined).sort()
  const texts = names.map((name) => {
    const folder = packageFolder(name)
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
    return `${name}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
  })
  writeFileSync(join(dist, 'LICENCES.txt'), texts.join('\n\n'))
  return names
}
