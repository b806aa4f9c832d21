// `npm run release:fixture -- REVISION`: keeps the servers of a release, so that the next release can be tried beside
// them (test/releases). REVISION is a tag or commit of Git; the version is that of its package.json. Packages that stay
// in node_modules are the present ones. The list of known passwords is left out, because it is large and the same.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { besideCode, compile, root } from './compile.mjs'

/** A bigger file would weigh on every clone. */
const maxBytes = 1_500_000
const servers = ['start.ts', 'auth-server/main.ts', 'deal-server/main.ts', 'auth-server/cli/main.ts']
const files = besideCode.filter((path) => !path.endsWith('common-passwords.bin'))

const [revision, ...others] = process.argv.slice(2)
if (revision === undefined || others.length > 0) {
  console.error('Usage: npm run release:fixture -- REVISION')
  process.exit(2)
}
const work = mkdtempSync(join(tmpdir(), 'keyhold-release-'))
try {
  const target = await keep(join(work, 'source'), join(work, 'compiled'))
  console.log(`${target}: ${statSync(target).size} bytes`)
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** Compiles the revision by way of both folders. Returns the path of the archive, the only one that remains. */
async function keep(source, compiled) {
  mkdirSync(source)
  const archive = execFileSync('git', ['-C', root, 'archive', revision], { maxBuffer: 2 ** 28 })
  execFileSync('tar', ['-x', '-C', source], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(source, 'node_modules'))
  await compile(compiled, servers, { from: source, isSmall: true, files })
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  const name = `keyhold-${version}.tgz`
  // The same content gives the same archive.
  const plain = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner']
  execFileSync('tar', [...plain, '-C', compiled, '-I', 'gzip -9n', '-cf', join(work, name), '.'])
  if (statSync(join(work, name)).size > maxBytes) throw new Error(`${name} has more than ${maxBytes} bytes`)
  const folder = join(root, 'test/releases')
  for (const old of readdirSync(folder)) if (old.endsWith('.tgz')) rmSync(join(folder, old))
  cpSync(join(work, name), join(folder, name))
  return join(folder, name)
}
