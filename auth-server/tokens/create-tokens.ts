import type { Clock } from '../../shared/platform/clock.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { rememberAwaitedTokens } from '../../shared/protocol/access-token/verified-token-cache.ts'
import {
  createAccessTokenVerifier,
  type VerificationKeys,
  type VerifyAccessToken,
} from '../../shared/protocol/access-token/verify-access-token.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'
import { createAccessTokenIssuer, type IssueAccessToken, type SigningKeys } from './access-tokens.ts'
import { createIdTokenIssuer, createIdTokenReader, type IssueIdToken, type ReadIdTokenHint } from './id-tokens.ts'
import { createKeySignedIssuer, type IssueKeySignedToken, type KeySignedSigningKeys } from './key-signed-tokens.ts'
import { createRefreshTokens, type RefreshTokens } from './refresh-tokens.ts'

/** Issues and reads the tokens of this server, of each kind. */
export interface Tokens {
  readonly issueAccessToken: IssueAccessToken
  readonly verifyAccessToken: VerifyAccessToken
  readonly issueIdToken: IssueIdToken
  readonly readIdTokenHint: ReadIdTokenHint
  readonly refreshTokens: RefreshTokens
  readonly issueKeySignedToken: IssueKeySignedToken
}

/** The systems that tokens use. */
export interface TokensPorts {
  readonly keyRing: SigningKeys & KeySignedSigningKeys & { verificationKeys(use: 'jwt'): VerificationKeys }
  readonly secretsKeys: SecretsKeys
  readonly clock: Clock
  readonly ids: IdSource
}

/** Creates the functions on tokens for this issuer and audience (ISSUER, AUDIENCE). */
export function createTokens(
  { issuer, audience }: { readonly issuer: string; readonly audience: string },
  { keyRing, secretsKeys, clock, ids }: TokensPorts,
): Tokens {
  const keys = keyRing.verificationKeys('jwt')
  const verify = createAccessTokenVerifier({ keys, issuer, clock })
  return {
    issueAccessToken: createAccessTokenIssuer({ keys: keyRing, ids, issuer, audience }),
    verifyAccessToken: rememberAwaitedTokens(verify, { keys, clock }),
    issueIdToken: createIdTokenIssuer({ keys: keyRing, issuer }),
    readIdTokenHint: createIdTokenReader({ keys, issuer, clock }),
    refreshTokens: createRefreshTokens({ secretsKeys, ids, issuer }),
    issueKeySignedToken: createKeySignedIssuer(keyRing),
  }
}
