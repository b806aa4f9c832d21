import { createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compactVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { namesForeignKey, readJwsHeader } from '../../../../shared/protocol/access-token/jws-header.ts'

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

const keyOf = (jwk: JsonWebKey) => createPublicKey({ key: jwk, format: 'jwk' })

/** What every verifier does: the header, then jose with one algorithm. */
async function accepts(key: KeyObject, text: string): Promise<boolean> {
  const header = readJwsHeader(text)
  if (typeof header === 'string' || namesForeignKey(header)) return false
  return compactVerify(text, key, { algorithms: ['RS256'] }).then(
    () => true,
    () => false,
  )
}

/** No token here has nothing to say: an empty payload is refused by its form. */
const emptyPayload = 259

describe("Wycheproof's vectors of RS256", () => {
  it('are all there', () => expect(vectors).toHaveLength(233))

  it('are accepted where they are valid, but for the empty payload', async () => {
    const valid = vectors.filter(({ vector }) => vector.result === 'valid')
    expect(valid).toHaveLength(8)
    for (const { key, vector } of valid)
      expect(await accepts(keyOf(key), vector.jws), `${vector.tcId} ${vector.comment}`).toBe(
        vector.tcId !== emptyPayload,
      )
  })

  it('are refused where they are not', async () => {
    for (const { key, vector } of vectors) {
      if (vector.result === 'valid') continue
      expect(await accepts(keyOf(key), vector.jws), `${vector.tcId} ${vector.comment}`).toBe(false)
    }
  })

  it('are refused under a key of another kind, whatever the header says', async () => {
    const others = [
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      generateKeyPairSync('rsa-pss', { modulusLength: 2048 }),
    ]
    for (const { vector } of vectors)
      for (const { publicKey } of others) expect(await accepts(publicKey, vector.jws)).toBe(false)
  })
})
