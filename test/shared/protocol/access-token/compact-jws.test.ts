import { createPublicKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isSignedRs256, parseCompactJws } from '../../../../shared/protocol/access-token/compact-jws.ts'

interface Vector {
  readonly tcId: number
  readonly comment: string
  readonly jws: string
  readonly result: 'valid' | 'invalid'
}

/** See `source` and `license` in the file. */
const { testGroups } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../vectors/wycheproof-jws-rs256.json'), 'utf8'),
) as { testGroups: { public: JsonWebKey; tests: Vector[] }[] }

const vectors = testGroups.flatMap(({ public: key, tests }) => tests.map((vector) => ({ key, vector })))

const accepts = (jwk: JsonWebKey, text: string): boolean => {
  const jws = parseCompactJws(text)
  return typeof jws !== 'string' && isSignedRs256(jws, createPublicKey({ key: jwk, format: 'jwk' }))
}

/** No token here has nothing to say: an empty payload is refused by its form. */
const emptyPayload = 259

describe("Wycheproof's vectors of RS256", () => {
  it('are all there', () => expect(vectors).toHaveLength(233))

  it('are accepted where they are valid, but for the empty payload', () => {
    const valid = vectors.filter(({ vector }) => vector.result === 'valid')
    expect(valid).toHaveLength(8)
    for (const { key, vector } of valid)
      expect(accepts(key, vector.jws), `${vector.tcId} ${vector.comment}`).toBe(vector.tcId !== emptyPayload)
  })

  it('are refused where they are not', () => {
    for (const { key, vector } of vectors) {
      if (vector.result === 'valid') continue
      expect(accepts(key, vector.jws), `${vector.tcId} ${vector.comment}`).toBe(false)
    }
  })

  it('are refused under a key of another kind, whatever the header says', () => {
    const others = [
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      generateKeyPairSync('rsa-pss', { modulusLength: 2048 }),
    ]
    for (const { vector } of vectors) {
      const jws = parseCompactJws(vector.jws)
      for (const { publicKey } of others) if (typeof jws !== 'string') expect(isSignedRs256(jws, publicKey)).toBe(false)
    }
  })
})
