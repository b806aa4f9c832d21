// `npm run release:fixture -- REVISION`: keeps the servers of a release for the tests of the next one
// (test/long/releases).
// REVISION is a tag or commit of Git; the version is that of its package.json. Packages that stay in node_modules are
// the present ones, those of traces too. What is large and not needed is left out: the list of known passwords, which
// is the same, and drizzle-kit's snapshots.
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { besideCode, compile, root } from './compile.mjs'

/** A bigger file would weigh on every clone. */
const maxBytes = 600_000
const maxBuffer = 2 ** 28
const servers = ['start.ts', 'auth-server/main.ts', 'deal-server/main.ts']
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
  const sources = execFileSync('git', ['-C', root, 'archive', revision], { maxBuffer })
  execFileSync('tar', ['-x', '-C', source], { input: sources })
  symlinkSync(join(root, 'node_modules'), join(source, 'node_modules'))
  await compile(compiled, servers, { from: source, isSmall: true, files, outside: ['@opentelemetry/*'] })
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  // The same content gives the same archive.
  const plain = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner']
  const content = execFileSync('tar', [...plain, '--exclude=*_snapshot.json', '-C', compiled, '-c', '.'], { maxBuffer })
  const archive = brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } })
  const name = `keyhold-${version}.tar.br`
  if (archive.length > maxBytes) throw new Error(`${name} has ${archive.length} bytes, more than ${maxBytes}`)
  const folder = join(root, 'test/long/releases')
  for (const old of readdirSync(folder)) if (old.startsWith('keyhold-')) rmSync(join(folder, old))
  writeFileSync(join(folder, name), archive)
  return join(folder, name)
}
