/**
 * The authentication schemes of the deal server: who fulfils their ports. Caches first, then the auth server; nothing of a credential is
 * ever kept on disk. `server.ts` mounts what comes out.
 */
import type { Clock } from '../shared/clock.ts'
import { createBearerScheme } from '../shared/schemes/bearer.ts'
import type { Scheme, SchemeName } from '../shared/schemes/scheme.ts'
import { rememberVerifiedTokens } from '../shared/tokens/verified-token-cache.ts'
import { createAccessTokenVerifier } from '../shared/tokens/verify-access-token.ts'
import type { KeyStore } from './access/key-store.ts'
import type { DealConfig } from './config.ts'

/** What the schemes rest on. */
export interface DealSchemePorts {
  readonly keys: KeyStore
  readonly clock: Clock
}

/** The enabled schemes (AUTH_SCHEMES). */
export function createDealSchemes(config: DealConfig, ports: DealSchemePorts): Scheme[] {
  const { keys, clock } = ports
  const { issuer, audience } = config
  const verify = createAccessTokenVerifier({ keys, issuer, audience, clock })
  const makers: Partial<Record<SchemeName, () => Scheme>> = {
    bearer: () =>
      createBearerScheme({ verify: rememberVerifiedTokens(verify, { keys, clock }), findKey: keys.findKey }),
  }
  return config.schemes.flatMap((name) => makers[name]?.() ?? [])
}
