import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { compactVerify, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { isSignedHs256, signHs256, signRs256 } from '../../../auth-server/tokens/jws.ts'
import { parseCompactJws } from '../../../shared/protocol/access-token/compact-jws.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const secret = randomBytes(32)
const claims = { client_id: 'keyhold', sid: 'a "quoted" name, ümlaut', gen: 3, iat: 1_900_000_000, exp: 2_000_000_000 }
const rs256 = { alg: 'RS256', typ: 'at+jwt', kid: 'k' }
const hs256 = { alg: 'HS256', typ: 'refresh+jwt', kid: 'k' }

function parsed(token: string) {
  const jws = parseCompactJws(token)
  if (typeof jws === 'string') throw new Error(jws)
  return jws
}

describe('a signed JWT', () => {
  it('has the octets that jose writes for the same header and claims', async () => {
    expect(await signRs256(privateKey, rs256, claims)).toBe(
      await new SignJWT(claims).setProtectedHeader(rs256).sign(privateKey),
    )
    expect(signHs256(secret, hs256, claims)).toBe(await new SignJWT(claims).setProtectedHeader(hs256).sign(secret))
  })

  it('is verified by jose', async () => {
    await compactVerify(await signRs256(privateKey, rs256, claims), publicKey, { algorithms: ['RS256'] })
    await compactVerify(signHs256(secret, hs256, claims), secret, { algorithms: ['HS256'] })
  })

  it('is refused when the key cannot sign', async () => {
    await expect(signRs256(publicKey, rs256, claims)).rejects.toThrow()
  })
})

describe('an HS256 signature', () => {
  const token = signHs256(secret, hs256, claims)

  it('is right under its own key only', () => {
    expect(isSignedHs256(parsed(token), secret)).toBe(true)
    expect(isSignedHs256(parsed(token), randomBytes(32))).toBe(false)
  })

  it('is refused when any part was changed, or the signature is shorter', () => {
    const [header = '', payload = '', signature = ''] = token.split('.')
    const other = Buffer.from(JSON.stringify({ ...claims, gen: 4 })).toString('base64url')
    const short = Buffer.from(signature, 'base64url').subarray(0, 16).toString('base64url')
    expect(isSignedHs256(parsed(`${header}.${other}.${signature}`), secret)).toBe(false)
    expect(isSignedHs256(parsed(`${header}.${payload}.${short}`), secret)).toBe(false)
  })

  it('is refused under another algorithm, and under a header that changes how the payload is read', () => {
    for (const header of [
      { ...hs256, alg: 'none' },
      { ...hs256, alg: 'RS256' },
      { ...hs256, crit: ['b64'] },
    ]) {
      expect(isSignedHs256(parsed(signHs256(secret, header, claims)), secret)).toBe(false)
    }
  })
})
