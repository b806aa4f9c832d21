// `npm run build`: compiles the programs into dist/, or into another folder that is named, with the files that they
// read: migrations, the known passwords, the files of pages.
import { existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
if (!existsSync(join(root, 'node_modules/esbuild'))) {
  console.error('The compiler is not installed: run npm ci first.')
  process.exit(1)
}
const { compile } = await import('./compile.mjs')
const folder = resolve(process.argv[2] ?? join(root, 'dist'))
rmSync(folder, { recursive: true, force: true })
await compile(folder)
