import { createHmac } from 'node:crypto'
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
const content = {
  username: 'Alice',
  loginId: ids.uuid(),
  counter: 4,
  generation: 2,
  audience: null,
  clientId: null,
  expiresAt: 2_000_000_000,
}
const issued = { ...content, issuedAt: 1_900_000_000 }

describe('a refresh token', () => {
  it('is read as issued, also when it has expired', async () => {
    const tokens = tokensUnder(key(1))
    expect(await tokens.read(await tokens.issue(issued))).toEqual(content)
    const ofClient = { ...content, clientId: ids.uuid(), endsAt: 2_000_000_500 }
    expect(tokens.read(tokens.issue({ ...issued, ...ofClient }))).toEqual(ofClient)
    const expired = { ...issued, issuedAt: 10, expiresAt: 20 }
    expect(await tokens.read(await tokens.issue(expired))).toMatchObject({ expiresAt: 20 })
    const audience = 'urn:example:invoices'
    expect(tokens.read(tokens.issue({ ...issued, audience }))).toEqual({ ...content, audience })
  })

  it('of a client has another audience than that of a login, which alone servers of release 0.3.0 read', () => {
    const tokens = tokensUnder(key(1))
    const ofClient = { ...issued, clientId: ids.uuid() }
    const audiences = [issued, ofClient].map((one) => decodeJwt(tokens.issue(one)).aud)
    expect(audiences).toEqual([`${issuer}/refresh`, `${issuer}/oauth/refresh`])
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
      ['refresh+jwt', { res: ['urn:example:invoices'] }],
    ] as const) {
      expect(await tokens.read(await sign(typ, { ...claims, ...changes }))).toBeUndefined()
    }
  })

  it('is nothing when a part was changed, or under a header that no token of this server has', () => {
    const tokens = tokensUnder(key(1))
    const token = tokens.issue(issued)
    const [header = '', payload = '', signature = ''] = token.split('.')
    const encode = (members: object) => Buffer.from(JSON.stringify(members)).toString('base64url')
    const changed = encode({ ...decodeJwt(token), gen: 4 })
    const shorter = Buffer.from(signature, 'base64url').subarray(0, 16).toString('base64url')
    const { id: kid, derive } = parseSecretsKeys(key(1))[0]
    const signed = (members: object) => {
      const input = `${encode(members)}.${payload}`
      return `${input}.${createHmac('sha256', derive('refresh tokens')).update(input).digest('base64url')}`
    }
    const right = { alg: 'HS256', typ: 'refresh+jwt', kid }
    expect(signed(right)).toBe(token)
    for (const text of [
      '',
      `${header}.${changed}.${signature}`,
      `${header}.${payload}.${shorter}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${token}=`,
      `${token}.x`,
      signed({ ...right, alg: 'none' }),
      signed({ ...right, alg: 'RS256' }),
      signed({ ...right, crit: ['b64'] }),
      signed({ alg: 'HS256', typ: 'refresh+jwt' }),
    ])
      expect(tokens.read(text), text).toBeUndefined()
  })
})
