import { generateKeyPairSync, verify as verifySignature } from 'node:crypto'
import { createAccessTokenIssuer } from '../auth-server/tokens/access-tokens.ts'
import { systemClock as clock, unixSeconds } from '../shared/platform/clock.ts'
import { createIdSource } from '../shared/platform/ids.ts'
import { parseCompactJws } from '../shared/protocol/access-token/compact-jws.ts'
import { createAccessTokenVerifier } from '../shared/protocol/access-token/verify-access-token.ts'
import type { Comparison } from './compare.ts'
import { repeated } from './repeated.ts'

const kid = 'k'.repeat(43)
const place = { issuer: 'http://127.0.0.1:4000', audience: 'deals' }
const tokenCount = 1_000

/** What verifying an access token that was never seen costs, against the signature in it. */
export async function verifyTokens(): Promise<Comparison> {
  const { privateKey, publicKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const issue = createAccessTokenIssuer({
    ...{ ...place, ids: createIdSource(clock) },
    keys: { signingKey: () => ({ kid, privateKey }) },
  })
  const issuedAt = unixSeconds(clock.now())
  const login = { username: 'bench', loginId: '01890a5d-ac96-774b-bcce-b302099a8057', generation: 1 }
  const subject = { ...login, clientId: 'keyhold', issuedAt, expiresAt: issuedAt + 86_400 }
  const tokens = await Promise.all(Array.from({ length: tokenCount }, () => issue(subject)))
  const verify = createAccessTokenVerifier({ ...place, keys: { key: () => key }, clock })
  const nextToken = inTurn(tokens)
  const nextJws = inTurn(tokens.map(jwsOf))
  return {
    title: 'Verifying access tokens that were not seen before, RS256 with RSA-2048',
    unit: 'operations',
    floor: repeated('crypto.verify', () => {
      const { signingInput, signature } = nextJws()
      return verifySignature('RSA-SHA256', signingInput, key, signature)
    }),
    subjects: [repeated('the token', () => verify(nextToken()).ok)],
  }
}

function jwsOf(token: string) {
  const jws = parseCompactJws(token)
  if (typeof jws === 'string') throw new Error(jws)
  return jws
}

/** One after the other, over and over. */
function inTurn<Item>(items: readonly Item[]): () => Item {
  let next = 0
  return () => {
    const item = items[next++ % items.length]
    if (item === undefined) throw new Error('there is nothing')
    return item
  }
}
