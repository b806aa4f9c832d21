import { constants, createPublicKey, publicDecrypt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  encodeKeySignedPayload,
  type KeySignedClaims,
} from '../../../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { parseKeySignedToken } from '../../../../shared/protocol/key-signed-token/key-signed-token.ts'
import { isTokenPassword } from '../../../../shared/protocol/key-signed-token/token-password.ts'
import { createKeySignedVerifier } from '../../../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { keySignedVectors, type VectorClaims } from '../../../vectors/key-signed-vectors.ts'

const { keys, publicKeyPem, vectors } = keySignedVectors
const [jwk] = keys
const publicKey = createPublicKey(publicKeyPem)

const claimsOf = ({ passwordHash, audience, ...rest }: VectorClaims): KeySignedClaims => ({
  ...rest,
  passwordHash: passwordHash && {
    ...passwordHash,
    salt: Buffer.from(passwordHash.salt, 'hex'),
    digest: Buffer.from(passwordHash.digest, 'hex'),
  },
  audience: audience === null ? null : Buffer.from(audience, 'hex'),
})

const verifyAt = (seconds: number) =>
  createKeySignedVerifier({
    keys: { key: (kid) => (kid === jwk?.kid ? publicKey : undefined) },
    clock: { now: () => seconds * 1000, monotonic: () => 0 },
  })

describe('the vectors of key-signed tokens', () => {
  it('name one key in both forms', () => {
    expect(publicKey.export({ format: 'jwk' })).toEqual({ kty: 'RSA', n: jwk?.n, e: jwk?.e })
    expect(vectors.length).toBeGreaterThan(30)
  })

  it.each(vectors)('$name: $outcome', async (vector) => {
    const verdict = verifyAt(vector.now)(vector.token)
    if (vector.outcome === 'refused') {
      expect(verdict).toMatchObject({ ok: false, problem: 'invalid-token' })
      return
    }
    const claims = claimsOf(vector.claims)
    expect(verdict).toMatchObject({ ok: vector.outcome === 'accepted', claims })
    const block = parseKeySignedToken(vector.token)?.block ?? Buffer.alloc(0)
    const payload = publicDecrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, block)
    expect(payload.toString('hex')).toBe(vector.payload)
    expect(encodeKeySignedPayload(claims).equals(payload)).toBe(true)
    if (!claims.passwordHash) return
    expect(await isTokenPassword(claims.passwordHash, String(vector.password))).toBe(true)
    expect(await isTokenPassword(claims.passwordHash, `${vector.password} `)).toBe(false)
  })
})
