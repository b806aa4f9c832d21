import type { KeyObject } from 'node:crypto'
import { createAccessTokenIssuer } from '../../auth-server/tokens/access-tokens.ts'
import { systemClock as clock, unixSeconds } from '../../shared/platform/clock.ts'
import { createIdSource } from '../../shared/platform/ids.ts'

/** What the tokens say, and the key that signs them. */
export interface IssuedTokens {
  readonly issuer: string
  readonly audience: string
  /** The user; one that no server knows when left out. */
  readonly username?: string
  readonly generation: number
  readonly signingKey: { readonly kid: string; readonly alg: string; readonly privateKey: KeyObject }
}

/** Issues so many access tokens in this process. */
export async function issueTokens(
  count: number,
  { issuer, audience, username = 'bench', generation, signingKey }: IssuedTokens,
): Promise<string[]> {
  const ids = createIdSource(clock)
  const issue = createAccessTokenIssuer({ issuer, audience, ids, keys: { signingKey: () => signingKey } })
  const issuedAt = unixSeconds(clock.now())
  const login = { username, loginId: '01890a5d-ac96-774b-bcce-b302099a8057', generation }
  const subject = { ...login, clientId: 'keyhold', audience: null, issuedAt, expiresAt: issuedAt + 86_400 }
  return Promise.all(Array.from({ length: count }, () => issue(subject)))
}
