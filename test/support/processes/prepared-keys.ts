import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKeyRing } from '../../../auth-server/key-ring/create-key-ring.ts'
import { systemClock } from '../../../shared/platform/clock.ts'

const keyRingFolder = join(import.meta.dirname, '../../../auth-server/key-ring')

/**
 * The folder of a key ring that all tests of this machine share, and none may change: generating RSA keys takes long.
 * Made by the first one, again when the code that writes it has changed.
 */
export async function preparedKeysDir(): Promise<string> {
  const sources = ['create-key-ring.ts', 'key-files.ts', 'keyring-file.ts'].map((name) =>
    readFileSync(join(keyRingFolder, name)),
  )
  const layout = createHash('sha256').update(Buffer.concat(sources)).digest('hex').slice(0, 12)
  const folder = join(import.meta.dirname, `../../../node_modules/.cache/keyhold/keys-${layout}`)
  await createKeyRing(folder, { bits: 2048, clock: systemClock })
  return folder
}
