// Runs before `npm start` and `npm test`: installs the locked dependencies when they are missing or out of date. So a
// fresh clone needs no other command.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Keyhold needs Node.js 20.19 or newer; this is ${process.versions.node}.`)
  process.exit(2)
}

/** What npm installed last time, by package path: `node_modules/.package-lock.json` is npm's own record of it. */
function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')).packages
  } catch {
    return undefined
  }
}

// With what is for development: the loader of TypeScript and the embedded database are. Built servers need neither.
const locked = packagesOf('package-lock.json') ?? {}
const installed = packagesOf('node_modules/.package-lock.json')
const complete = Object.entries(locked).every(
  ([path, entry]) => path === '' || entry.optional || installed?.[path]?.version === entry.version,
)
if (!complete) {
  console.error('Installing the dependencies …')
  const { status } = spawnSync('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(status ?? 1)
}
