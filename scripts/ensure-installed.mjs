// Installs the locked dependencies when they are missing or out of date, so that a fresh clone needs no other command:
// what the servers need before `npm start`, and the tools of development too before `npm test` and its like.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Keyhold needs Node.js 20.19 or newer; this is ${process.versions.node}.`)
  process.exit(2)
}

/** The packages of a file, by path. `node_modules/.package-lock.json` is npm's own record of its last installation. */
function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')).packages
  } catch {
    return undefined
  }
}

/**
 * Installs what is missing, for the project or for a `folder/` of it. Tools that are there already stay, and are kept
 * up to date.
 * @param {{ withTools: boolean, folder?: string }} options
 */
export function ensureInstalled({ withTools, folder = '' }) {
  const locked = Object.entries(packagesOf(`${folder}package-lock.json`) ?? {}).filter(([path]) => path !== '')
  const installed = packagesOf(`${folder}node_modules/.package-lock.json`) ?? {}
  const areTools = (entry) => entry.dev || entry.devOptional
  const isThere = ([path, entry]) => entry.optional || installed[path]?.version === entry.version
  if (locked.every((one) => isThere(one) || (areTools(one[1]) && !withTools))) return
  const hasTools = Object.values(installed).some(areTools)
  const which = withTools || hasTools ? '--include=dev' : '--omit=dev'
  console.error('Installing the dependencies …')
  // No package needs its install script to run.
  const { status } = spawnSync('npm', ['ci', which, '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: fileURLToPath(new URL(`../${folder}`, import.meta.url)),
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(status ?? 1)
}

if (/ensure-installed(\.mjs)?$/.test(process.argv[1] ?? '')) ensureInstalled({ withTools: true })
