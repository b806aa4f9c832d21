import type { KeyRingOperation } from '../../../auth-server/key-ring/operate-key-ring.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { copyKeys } from '../processes/own-keys.ts'
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
  const { directory, remove } = await copyKeys()
  const stack = await openStack(openBackend, { dealServers: 2, environment: { KEYS_DIR: directory } })
  return {
    stack,
    operation: { directory, bits: 2048, rules, clock: systemClock },
    close: async () => {
      await stack.close()
      await remove()
    },
  }
}
