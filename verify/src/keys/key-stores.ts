import type { SchemeName } from '../../../shared/protocol/authentication/scheme.ts'
import { splitDigests } from '../../../shared/protocol/internal-api/published-keys.ts'
import type { FollowingSystems } from '../auth-client/auth-client.ts'
import { KeyStore } from './key-store.ts'

/** The keys of both kinds of tokens. */
export type KeyStores = ReturnType<typeof createKeyStores>

/**
 * The keys of the enabled schemes; none before the first load. A key in both documents verifies neither kind of tokens:
 * the signature of a JWT and the block of a key-signed token are the same computation
 * (docs/contract/operators.md#key-ring).
 */
export function createKeyStores(systems: FollowingSystems, schemes: readonly SchemeName[]) {
  const jwt: KeyStore = new KeyStore(systems, 'jwt', (modulus) => keySigned.holds(modulus))
  const keySigned: KeyStore = new KeyStore(systems, 'key-signed', (modulus) => jwt.holds(modulus))
  const needed = [...(schemes.includes('bearer') ? [jwt] : []), ...(schemes.includes('key-signed') ? [keySigned] : [])]
  // Both documents are needed when one scheme is enabled: a key in both verifies nothing.
  const stores = needed.length > 0 ? [jwt, keySigned] : []
  return {
    jwt,
    keySigned,
    /** True when every enabled scheme that verifies tokens has a key. */
    areThere: (): boolean => needed.every((store) => store.size() > 0),
    /** Loads both documents. Never rejects. */
    refresh: async (): Promise<void> => void (await Promise.all(stores.map((store) => store.refresh()))),
    /** Called when an auth server announces its keys. While auth servers disagree, reloads until they agree. */
    onPublishedKeys: (published: string) => {
      const digests = splitDigests(published)
      jwt.onPublishedKeys(digests.jwt)
      keySigned.onPublishedKeys(digests.keySigned)
    },
    start: () => {
      for (const store of stores) store.start()
    },
    stop: () => {
      for (const store of stores) store.stop()
    },
  }
}
