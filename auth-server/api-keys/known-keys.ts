import type { Clock } from '../../shared/platform/clock.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import {
  type SigningKey,
  type StoredSigningKey,
  signingKeyOf,
} from '../../shared/protocol/authentication/signed-request/signing-key.ts'
import type { PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import { rememberKeys } from '../../verify/src/credentials/api-key-store.ts'
import type { ApiKeys } from './api-keys.ts'

/** A key with what verifies its signatures. */
interface KnownKey extends StoredSigningKey {
  readonly signing: SigningKey
}

/** The API keys that this server remembers, and their owners. */
export type KnownKeys = ReturnType<typeof createKnownKeys>

/** Creates an empty memory. What it knows is as fresh as the principals. */
export function createKnownKeys(
  { material }: Pick<ApiKeys, 'material'>,
  { principals, clock }: { readonly principals: Principals; readonly clock: Clock },
) {
  const load = async (id: string): Promise<KnownKey | undefined> => {
    const key = await material(id)
    return key && { ...key, signing: signingKeyOf(key) }
  }
  const held = rememberKeys({ principals, clock, load, unknownForMs: 0 })
  return {
    /** True when the key of this id is in memory. */
    has: (id: string | undefined): boolean => id !== undefined && held.peek(id) !== undefined,
    /** The key as the database would give it: neither revoked nor expired. @throws Unavailable */
    find: async (id: string): Promise<KnownKey | undefined> => {
      const key = await held.find(id)
      const isOver = (until: number | null | undefined) => until != null && until <= clock.now()
      if (!key || isOver(key.expiresAt)) return undefined
      return isOver(key.former?.until) ? { ...key, former: null } : key
    },
    /** The owner of a key. @throws Unavailable */
    owner: async (username: string): Promise<PrincipalRecord | undefined> => principals.get(username),
  }
}
