import { constants, generateKeyPairSync, publicDecrypt } from 'node:crypto'
import { systemClock as clock, unixSeconds } from '../../shared/platform/clock.ts'
import { createHashingPermits } from '../../shared/platform/crypto/hashing-permits.ts'
import { rememberVerifiedTokens } from '../../shared/protocol/access-token/verified-token-cache.ts'
import { createTokenPasswords } from '../../shared/protocol/authentication/key-signed/key-signed-password.ts'
import type { LoginThrottle } from '../../shared/protocol/authentication/login-throttle.ts'
import type { KeySignedClaims } from '../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { parseKeySignedToken } from '../../shared/protocol/key-signed-token/key-signed-token.ts'
import { digestTokenPassword } from '../../shared/protocol/key-signed-token/token-password.ts'
import { createKeySignedVerifier } from '../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { tokenSaying } from '../../test/support/clients/key-signed-tokens.ts'
import type { Comparison } from '../runner/compare.ts'
import { repeated } from './repeated.ts'

const kid = 'k'.repeat(43)
const password = 'correct horse battery staple'

/** Compares the verification of a key-signed token with its RSA operation. */
export async function verifyKeySigned(): Promise<Comparison> {
  const { privateKey, publicKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const claims = await claimsOfAllKinds()
  const token = tokenSaying({ kid, privateKey }, claims)
  const block = parseKeySignedToken(token)?.block ?? Buffer.alloc(0)
  const ports = { keys: { key: () => key }, clock }
  const verify = createKeySignedVerifier(ports)
  const verifyKnown = rememberVerifiedTokens(verify, ports)
  const loginThrottle: Pick<LoginThrottle, 'attempt' | 'judge'> = {
    attempt: (_attempt, check) => check(),
    judge: () => undefined,
  }
  const passwords = createTokenPasswords({ withPermit: createHashingPermits({ concurrency: 1 }), loginThrottle, clock })
  const attempt = { token: 'kst1', field: Buffer.from(password).toString('base64url'), address: '203.0.113.7' }
  if (!(await passwords.isRight(claims, attempt))) throw new Error('The password is not accepted.')
  return {
    title: 'Verifying a key-signed token, RSA-2048',
    unit: 'operations',
    floors: [
      repeated('crypto.publicDecrypt', () => publicDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, block)),
    ],
    subjects: [
      repeated('a new token', () => verify(token)),
      repeated('a token seen before', () => verifyKnown(token)),
      repeated('the same with its password', () => verifyKnown(token).ok && passwords.isRight(claims, attempt)),
    ],
  }
}

async function claimsOfAllKinds(): Promise<KeySignedClaims> {
  const iat = unixSeconds(clock.now())
  const cost = { memoryKib: 19_456, passes: 2, lanes: 1, salt: Buffer.alloc(16, 1) }
  return {
    iat,
    exp: iat + 86_400,
    jti: '01890a5d-ac96-774b-bcce-b302099a8057',
    gen: 1,
    sub: 'x'.repeat(64),
    audience: null,
    address: '2001:db8::7',
    passwordHash: { ...cost, digest: await digestTokenPassword(password, cost) },
  }
}
