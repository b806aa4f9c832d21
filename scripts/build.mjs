// `npm run build`: compiles the servers into dist/, with what they need beside their code: the migrations, the files
// of pages and the module type.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)
const dist = new URL('dist/', root)
const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))
if (!existsSync(tsc)) {
  console.error('The compiler is not installed: run npm ci first.')
  process.exit(1)
}

rmSync(dist, { recursive: true, force: true })
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
  cwd: fileURLToPath(root),
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)

for (const folder of ['auth-server/store/migrations/', 'deal-server/store/migrations/', 'shared/pages/assets/']) {
  cpSync(new URL(folder, root), new URL(folder, dist), { recursive: true })
}
const { name, version, type, engines } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
writeFileSync(
  new URL('package.json', dist),
  `${JSON.stringify({ name, version, private: true, type, engines }, null, 2)}\n`,
)
