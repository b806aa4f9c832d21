import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KeyRingOperation } from '../../../auth-server/key-ring/operate-key-ring.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { preparedKeysDir } from '../processes/prepared-keys.ts'
import type { OpenBackend } from '../stores/backends.ts'
import { openStack, type Stack } from './stack.ts'

const rules = { maxAgeMs: 86_400_000, longestTokenLifeMs: { jwt: 1_800_000, 'key-signed': 1_800_000 } }

/** Two deal servers, and the key ring of their auth server in the hands of an operator. */
export interface RingStack {
  readonly stack: Stack
  readonly operation: KeyRingOperation
  close(): Promise<void>
}

/** The stack with a key ring that nothing else uses. */
export async function openRingStack(openBackend: OpenBackend): Promise<RingStack> {
  const directory = await mkdtemp(join(tmpdir(), 'keyhold-keys-'))
  await cp(await preparedKeysDir(), directory, { recursive: true })
  const stack = await openStack(openBackend, { dealServers: 2, environment: { KEYS_DIR: directory } })
  return {
    stack,
    operation: { directory, bits: 2048, rules, clock: systemClock },
    close: async () => {
      await stack.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
