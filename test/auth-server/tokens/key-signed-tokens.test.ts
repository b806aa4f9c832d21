import { constants, generateKeyPairSync, publicDecrypt } from 'node:crypto'
import NodeRSA from 'node-rsa'
import { describe, expect, it } from 'vitest'
import { createKeySignedIssuer } from '../../../auth-server/tokens/key-signed-tokens.ts'
import {
  encodeKeySignedPayload,
  type KeySignedClaims,
} from '../../../shared/protocol/key-signed-token/key-signed-payload.ts'
import {
  formatKeySignedToken,
  parseKeySignedToken,
} from '../../../shared/protocol/key-signed-token/key-signed-token.ts'
import { createKeySignedVerifier } from '../../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { blockOf } from '../../support/clients/key-signed-tokens.ts'

const kid = 'k'.repeat(43)
const now = 1_800_000_000
const clock = { now: () => now * 1000, monotonic: () => 0 }
const hash = { memoryKib: 64, passes: 1, lanes: 1, salt: Buffer.alloc(16, 1), digest: Buffer.alloc(32, 2) }
const claims: KeySignedClaims = {
  iat: now,
  exp: now + 1800,
  jti: '01890a5d-ac96-774b-bcce-b302099a8057',
  gen: 3,
  sub: 'x'.repeat(64),
  address: '2001:db8::7',
  passwordHash: hash,
  audience: null,
}

const keys = [2048, 3072, 4096].map((modulusLength) => ({
  modulusLength,
  ...generateKeyPairSync('rsa', { modulusLength }),
}))

describe.each(keys)('with a key of $modulusLength bits', ({ modulusLength, privateKey, publicKey }) => {
  const issue = createKeySignedIssuer({ signingKey: () => ({ kid, privateKey }) })
  const verify = createKeySignedVerifier({ keys: { key: (named) => (named === kid ? publicKey : undefined) }, clock })

  it('a token is one block, and verified', () => {
    const { token, kid: told } = issue(claims)
    expect(told).toBe(kid)
    expect(parseKeySignedToken(token)?.block.length).toBe(modulusLength / 8)
    expect(verify(token)).toEqual({ ok: true, kid, claims })
    // Deterministic: the padding of block type 1 has nothing random in it.
    expect(issue(claims).token).toBe(token)
  })

  it('node-rsa and node:crypto read what the other has made, which is the same octets', () => {
    const payload = encodeKeySignedPayload(claims)
    const block = parseKeySignedToken(issue(claims).token)?.block ?? Buffer.alloc(0)
    expect(publicDecrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, block).equals(payload)).toBe(true)
    expect(blockOf(privateKey, payload).equals(block)).toBe(true)
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const reader = new NodeRSA(pem, 'pkcs8-public-pem', { encryptionScheme: 'pkcs1' })
    expect(Buffer.from(reader.decryptPublic(blockOf(privateKey, payload), 'buffer')).equals(payload)).toBe(true)
  })

  it('each time of its life has its verdict', () => {
    const verdictAt = (seconds: number) =>
      createKeySignedVerifier({
        keys: { key: () => publicKey },
        clock: { now: () => seconds * 1000, monotonic: () => 0 },
      })(issue(claims).token)
    expect(verdictAt(now - 61)).toEqual({ ok: false, problem: 'invalid-token' })
    expect(verdictAt(now - 60)).toMatchObject({ ok: true })
    expect(verdictAt(now + 1799.999)).toMatchObject({ ok: true })
    expect(verdictAt(now + 1800)).toMatchObject({ ok: false, problem: 'token-expired' })
  })
})

it('a block without its leading zero, or with one more, is refused though it is the same number', () => {
  // Of 2048 bits, the text would be too short already.
  const { privateKey, publicKey } = keys[1] ?? expect.unreachable()
  const verify = createKeySignedVerifier({ keys: { key: () => publicKey }, clock })
  let block: Buffer = Buffer.of(1)
  for (let gen = 1; block[0] !== 0; gen += 1) block = blockOf(privateKey, encodeKeySignedPayload({ ...claims, gen }))
  expect(verify(formatKeySignedToken({ kid, block })).ok).toBe(true)
  for (const other of [block.subarray(1), Buffer.concat([Buffer.of(0), block])]) {
    expect(verify(formatKeySignedToken({ kid, block: other }))).toEqual({ ok: false, problem: 'invalid-token' })
  }
})
