// `npm run build`: compiles the servers into dist/, or into another folder that is named, with what they need beside
// their code:
// the migrations, the known passwords, the files of pages and the module type. Further words are options of the
// compiler.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = new URL('../', import.meta.url)
const [named, ...options] = process.argv.slice(2)
const folder = resolve(named ?? fileURLToPath(new URL('dist', root)))
const dist = pathToFileURL(`${folder}/`)
const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))
if (!existsSync(tsc)) {
  console.error('The compiler is not installed: run npm ci first.')
  process.exit(1)
}

rmSync(dist, { recursive: true, force: true })
const project = options.includes('-p') ? [] : ['-p', 'tsconfig.build.json']
const { status } = spawnSync(process.execPath, [tsc, ...project, ...options, '--outDir', folder], {
  cwd: fileURLToPath(root),
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)

for (const beside of [
  'auth-server/passwords/common-passwords.bin',
  'auth-server/store/migrations/',
  'deal-server/store/migrations/',
  'shared/platform/html/assets/',
]) {
  cpSync(new URL(beside, root), new URL(beside, dist), { recursive: true })
}
const { name, version, type, engines } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
writeFileSync(
  new URL('package.json', dist),
  `${JSON.stringify({ name, version, private: true, type, engines }, null, 2)}\n`,
)
