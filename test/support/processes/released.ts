/** The servers of an earlier release, from the archive that `npm run release:fixture` made (docs/releasing.md). */
import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type ChildOptions, type ChildServer, startFile } from './child-server.ts'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'test/releases')
const [archive = '', ...others] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
if (archive === '' || others.length > 0) throw new Error(`${folder} must have one archive: npm run release:fixture`)

/** The version of that release: 0.1.0, although 0.2.0 is the release before the present code. */
export const releasedVersion = /^keyhold-(.+)\.tgz$/.exec(archive)?.[1] ?? ''

const commonPasswords = 'auth-server/passwords/common-passwords.bin'

/** The folder of the unpacked archive, below `node_modules`: the servers find their packages upwards. */
function unpacked(): string {
  const content = createHash('sha256')
    .update(readFileSync(join(folder, archive)))
    .digest('hex')
  const target = join(root, `node_modules/.cache/keyhold/release-${releasedVersion}-${content.slice(0, 12)}`)
  if (existsSync(target)) return target
  const unfinished = `${target}.${randomUUID()}`
  mkdirSync(join(unfinished, 'auth-server/passwords'), { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, archive), '-C', unfinished])
  cpSync(join(root, commonPasswords), join(unfinished, commonPasswords))
  try {
    renameSync(unfinished, target)
  } catch (error) {
    // Another worker may have been faster.
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(target)) throw error
  }
  return target
}

/** Starts a file of that release, such as `start.ts`. */
export const startReleased = (file: string, options: ChildOptions): ChildServer =>
  startFile(join(unpacked(), file.replace(/\.ts$/, '.js')), options)
