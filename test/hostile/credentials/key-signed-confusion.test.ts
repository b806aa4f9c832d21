import { createPublicKey, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createAccessTokenVerifier } from '../../../shared/protocol/access-token/verify-access-token.ts'
import {
  encodeKeySignedPayload,
  type KeySignedClaims,
} from '../../../shared/protocol/key-signed-token/key-signed-payload.ts'
import {
  formatKeySignedToken,
  parseKeySignedToken,
} from '../../../shared/protocol/key-signed-token/key-signed-token.ts'
import { createKeySignedVerifier } from '../../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { audience, generateTestKey, issuer } from '../../auth-server/support/auth-core.ts'
import { tokenSaying } from '../../support/clients/key-signed-tokens.ts'

const now = 1_800_000_000
const clock = { now: () => now * 1000, monotonic: () => 0 }
const key = generateTestKey()
const keys = { key: (kid: string) => (kid === key.kid ? createPublicKey(key.privateKey) : undefined) }
/** One key for both: what no key ring can be made to do, done here all the same. */
const verifyKeySigned = createKeySignedVerifier({ keys, clock })
const verifyJwt = createAccessTokenVerifier({ keys, issuer, clock })

const claims: KeySignedClaims = {
  iat: now,
  exp: now + 1800,
  jti: '01890a5d-ac96-774b-bcce-b302099a8057',
  gen: 1,
  sub: 'alice',
  address: null,
  passwordHash: null,
  audience: null,
}
const encode = (json: object): string => Buffer.from(JSON.stringify(json)).toString('base64url')
const jwtInput = [
  encode({ alg: 'RS256', typ: 'at+jwt', kid: key.kid }),
  encode({
    iss: issuer,
    aud: audience,
    sub: 'alice',
    client_id: 'keyhold',
    sid: 'x',
    jti: 'y',
    gen: 1,
    iat: now,
    exp: now + 1800,
  }),
].join('.')

describe('with one key misused for JWTs and for key-signed tokens', () => {
  it('each kind is accepted for itself', async () => {
    const signature = sign('RSA-SHA256', Buffer.from(jwtInput), key.privateKey)
    expect(await verifyJwt(`${jwtInput}.${signature.toString('base64url')}`)).toMatchObject({ ok: true })
    expect(verifyKeySigned(tokenSaying(key, claims)).ok).toBe(true)
  })

  it.each(['RSA-SHA256', 'RSA-SHA1', 'RSA-SHA384', 'RSA-SHA512'])('an %s signature is no token', (algorithm) => {
    for (const signed of [Buffer.from(jwtInput), encodeKeySignedPayload(claims), Buffer.alloc(0)]) {
      const block = sign(algorithm, signed, key.privateKey)
      expect(verifyKeySigned(formatKeySignedToken({ kid: key.kid, block }))).toEqual({
        ok: false,
        problem: 'invalid-token',
      })
    }
  })

  it('a token is no signature, whatever it is put under', async () => {
    const block = parseKeySignedToken(tokenSaying(key, claims))?.block.toString('base64url')
    const payload = encodeKeySignedPayload(claims).toString('base64url')
    for (const input of [jwtInput, `${jwtInput.split('.')[0]}.${payload}`]) {
      expect(await verifyJwt(`${input}.${block}`)).toMatchObject({ ok: false })
    }
  })
})
