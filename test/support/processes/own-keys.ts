import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { preparedKeysDir } from './prepared-keys.ts'

/** A key ring of a test's own, which may change. */
export async function copyKeys(): Promise<{ readonly directory: string; remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'keyhold-keys-'))
  await cp(await preparedKeysDir(), directory, { recursive: true })
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) }
}
