import { decodeJwt, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { createRefreshTokens } from '../../../auth-server/tokens/refresh-tokens.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { issuer } from '../support/auth-core.ts'

const ids = createIdSource(systemClock)
const key = (fill: number) => Buffer.alloc(32, fill).toString('base64url')
const tokensUnder = (keys: string, of = issuer) =>
  createRefreshTokens({ secretsKeys: parseSecretsKeys(keys), ids, issuer: of })
const content = { username: 'Alice', loginId: ids.uuid(), counter: 4, generation: 2, expiresAt: 2_000_000_000 }
const issued = { ...content, issuedAt: 1_900_000_000 }

describe('a refresh token', () => {
  it('is read as issued, also when it has expired', async () => {
    const tokens = tokensUnder(key(1))
    expect(await tokens.read(await tokens.issue(issued))).toEqual(content)
    const expired = { ...issued, issuedAt: 10, expiresAt: 20 }
    expect(await tokens.read(await tokens.issue(expired))).toMatchObject({ expiresAt: 20 })
  })

  it('is read under a former key, and issued under the first', async () => {
    const old = await tokensUnder(key(1)).issue(issued)
    expect(await tokensUnder(`${key(2)},${key(1)}`).read(old)).toEqual(content)
    expect(await tokensUnder(key(2)).read(old)).toBeUndefined()
    const fresh = await tokensUnder(`${key(2)},${key(1)}`).issue(issued)
    expect(await tokensUnder(key(2)).read(fresh)).toEqual(content)
  })

  it('is nothing to another issuer, nor under another typ or audience', async () => {
    const tokens = tokensUnder(key(1))
    const token = await tokens.issue(issued)
    expect(await tokensUnder(key(1), 'https://other.example').read(token)).toBeUndefined()
    const secret = parseSecretsKeys(key(1))[0]
    const sign = (typ: string, claims: Record<string, unknown>) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', typ, kid: secret.id })
        .sign(secret.derive('refresh tokens'))
    const claims = decodeJwt(token)
    expect(await tokens.read(await sign('refresh+jwt', claims))).toEqual(content)
    for (const [typ, changes] of [
      ['at+jwt', {}],
      ['refresh+jwt', { aud: issuer }],
      ['refresh+jwt', { sid: 'no-uuid' }],
      ['refresh+jwt', { ctr: -1 }],
      ['refresh+jwt', { ctr: 2 ** 31 }],
      ['refresh+jwt', { exp: 'x' }],
    ] as const) {
      expect(await tokens.read(await sign(typ, { ...claims, ...changes }))).toBeUndefined()
    }
  })
})
