/**
 * The authentication schemes of the auth server: who fulfils their ports, its own database foremost. `server.ts` mounts what comes
 * out.
 */
import { createBearerScheme } from '../shared/schemes/bearer.ts'
import type { Scheme, SchemeName } from '../shared/schemes/scheme.ts'
import type { VerifyAccessToken } from '../shared/tokens/verify-access-token.ts'
import type { AuthConfig } from './config.ts'

/** What the schemes rest on. */
export interface AuthSchemePorts {
  readonly verifyAccessToken: VerifyAccessToken
}

/** The enabled schemes (AUTH_SCHEMES). */
export function createAuthSchemes(config: AuthConfig, { verifyAccessToken }: AuthSchemePorts): Scheme[] {
  const makers: Partial<Record<SchemeName, () => Scheme>> = {
    bearer: () => createBearerScheme({ verify: verifyAccessToken, findKey: () => Promise.resolve(false) }),
  }
  return config.schemes.flatMap((name) => makers[name]?.() ?? [])
}
