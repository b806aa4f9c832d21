import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KeyUse } from '../../../auth-server/key-ring/keyring-file.ts'
import type { TokenKey } from '../clients/key-signed-tokens.ts'

/** The active private key of a key ring, for tests that forge. */
export function activeKey(directory: string, use: KeyUse): TokenKey {
  const ring = JSON.parse(readFileSync(join(directory, 'keyring.json'), 'utf8')) as {
    keys: { kid: string; use: KeyUse; state: string; file: string }[]
  }
  const entry = ring.keys.find((key) => key.use === use && key.state === 'active')
  if (!entry) throw new Error(`no active key for ${use}`)
  return { kid: entry.kid, privateKey: createPrivateKey(readFileSync(join(directory, entry.file), 'utf8')) }
}
