import { generateKeyPairSync } from 'node:crypto'
import { jwtVerify } from 'jose'
import { expect, it } from 'vitest'
import { signJwt } from '../../../auth-server/tokens/sign-jwt.ts'

const pairs = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
} as const

it.each(Object.entries(pairs))(
  'jose accepts a token that is signed by %s, and none that was changed',
  async (alg, pair) => {
    const { privateKey, publicKey } = pair()
    const claims = { sub: 'Zoë', scope: undefined, gen: 3 }
    const token = await signJwt(claims, 'at+jwt', { kid: 'k1', alg, privateKey })
    const verified = await jwtVerify(token, publicKey, { algorithms: [alg], typ: 'at+jwt' })
    expect(verified.protectedHeader).toEqual({ alg, typ: 'at+jwt', kid: 'k1' })
    expect(verified.payload).toEqual({ sub: 'Zoë', gen: 3 })
    const [header, , signature] = token.split('.')
    const other = Buffer.from(JSON.stringify({ sub: 'admin', gen: 3 })).toString('base64url')
    await expect(jwtVerify(`${header}.${other}.${signature}`, publicKey)).rejects.toThrow('signature')
  },
)
