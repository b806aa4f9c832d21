import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError, withFilesOf } from '../operator-error.ts'

const minLength = 32

/**
 * A generated secret for development: 32 random bytes as base64url. It is kept in the data folder, readable by its
 * owner only. The first process creates it; all processes that share the folder use it.
 * @throws OperatorError when the folder cannot be written, or the file is too short, as after a power cut
 */
export async function generatedSecret(dataDir: string, name: string): Promise<string> {
  const secret = await withFilesOf('DATA_DIR', dataDir, () => readOrGenerate(dataDir, name))
  if (secret.length >= minLength) return secret
  throw new OperatorError(`${join(dataDir, name)} must hold at least ${minLength} characters: put the secret back`)
}

async function readOrGenerate(dataDir: string, name: string): Promise<string> {
  const path = join(dataDir, name)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const existing = await readIfThere(path)
  if (existing !== undefined) return existing
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
    // Fails if another process was faster. Then the secret of that process is used.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { force: true })
  }
  return (await readFile(path, 'utf8')).trim()
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
