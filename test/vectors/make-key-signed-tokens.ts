/**
 * Writes `key-signed-tokens.json`, under a key pair of which only the public half is kept:
 * `node --import tsx test/vectors/make-key-signed-tokens.ts`. Only a new layout needs new vectors.
 */
import { constants, createPublicKey, generateKeyPairSync, privateEncrypt, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { calculateJwkThumbprint } from 'jose'
import {
  audienceDigest,
  encodeKeySignedPayload,
  type KeySignedClaims,
} from '../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { formatKeySignedToken, parseKeySignedToken } from '../../shared/protocol/key-signed-token/key-signed-token.ts'
import { digestTokenPassword } from '../../shared/protocol/key-signed-token/token-password.ts'
import { bodyOf, tokenOf, tokenSaying, withDigest } from '../support/clients/key-signed-tokens.ts'
import type { KeySignedVector, KeySignedVectors } from './key-signed-vectors.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const publicKey = createPublicKey(privateKey)
const jwk = publicKey.export({ format: 'jwk' })
const kid = await calculateJwkThumbprint(jwk)
const key = { kid, privateKey }

const now = 1_800_000_000
const password = 'correct horse battery staple'
const cost = { memoryKib: 19_456, passes: 2, lanes: 1, salt: Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex') }
const passwordHash = { ...cost, digest: await digestTokenPassword(password, cost) }
const bare: KeySignedClaims = {
  iat: now,
  exp: now + 1800,
  jti: '01890a5d-ac96-774b-bcce-b302099a8057',
  gen: 7,
  sub: null,
  address: null,
  passwordHash: null,
  audience: null,
}
const everything: KeySignedClaims = { ...bare, sub: 'alice', address: '203.0.113.7', passwordHash }
const forOther = { audience: audienceDigest('urn:example:invoices') }
const longest: KeySignedClaims = { ...everything, sub: 'x'.repeat(64), address: '2001:db8:1:2:3:4:5:6' }

const good = (name: string, claims: KeySignedClaims, at = now, outcome: 'accepted' | 'expired' = 'accepted') => ({
  name,
  token: tokenSaying(key, claims),
  now: at,
  outcome,
  payload: encodeKeySignedPayload(claims).toString('hex'),
  claims: {
    ...claims,
    passwordHash: claims.passwordHash && {
      ...claims.passwordHash,
      salt: claims.passwordHash.salt.toString('hex'),
      digest: claims.passwordHash.digest.toString('hex'),
    },
    audience: claims.audience?.toString('hex') ?? null,
  },
  ...(claims.passwordHash && { password }),
})

const bad = (name: string, because: 'text' | 'block' | 'payload' | 'content', token: string): KeySignedVector => ({
  name,
  token,
  now,
  outcome: 'refused',
  because,
})

const token = tokenSaying(key, everything)
const block = parseKeySignedToken(token)?.block ?? Buffer.alloc(0)
const body = bodyOf(encodeKeySignedPayload(everything))
const head = body.subarray(0, 38)
const fields = (...parts: string[]) =>
  withDigest(Buffer.concat([head, ...parts.flatMap((hex) => [Buffer.of(hex.length / 2), Buffer.from(hex, 'hex')])]))
const changed = (at: number, octet: number) => {
  const copy = Buffer.from(body)
  copy[at] = octet
  return withDigest(copy)
}
const raw = (octets: Buffer) =>
  formatKeySignedToken({
    kid,
    block: privateEncrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, octets),
  })
const payload = encodeKeySignedPayload(everything)
const typeTwo = Buffer.concat([Buffer.of(0, 2), Buffer.alloc(253 - payload.length, 255), Buffer.of(0), payload])
const behind = Buffer.concat([Buffer.of(0, 1), Buffer.alloc(8, 255), Buffer.of(0), payload])
const hex = (text: string) => Buffer.from(text).toString('hex')

const vectors: KeySignedVector[] = [
  good('nothing but that it was issued', bare),
  good('a user name', { ...bare, sub: 'alice' }),
  good('an IPv4 address', { ...bare, address: '203.0.113.7' }),
  good('an IPv6 address', { ...bare, address: '2001:db8::7' }),
  good('a password', { ...bare, passwordHash }),
  good('everything', everything),
  good('everything, as long as it can be', longest),
  good('the audience urn:example:invoices', { ...bare, sub: 'alice', ...forOther }),
  good('everything, for the audience urn:example:invoices', { ...longest, ...forOther }),
  good('issued 60 seconds ahead', { ...bare, sub: 'alice' }, now - 60),
  good('in its last second', { ...bare, sub: 'alice' }, now + 1799),
  good('expired in this second', { ...bare, sub: 'alice' }, now + 1800, 'expired'),
  { ...bad('issued 61 seconds ahead', 'content', token), now: now - 61 },
  bad('no token', 'text', ''),
  bad('another version of the text', 'text', token.replace('kst1', 'kst2')),
  bad('base64url with padding', 'text', `${token}==`),
  bad('base64url with bits set that mean nothing', 'text', withBitsThatMeanNothing(token)),
  bad('a fourth part', 'text', `${token}.`),
  bad('an unknown kid', 'text', token.replace(kid, 'A'.repeat(43))),
  bad('no block', 'block', `kst1.${kid}.`),
  bad('one octet too few', 'block', formatKeySignedToken({ kid, block: block.subarray(1) })),
  bad('two blocks', 'block', formatKeySignedToken({ kid, block: Buffer.concat([block, block]) })),
  bad('a number beyond the modulus', 'block', formatKeySignedToken({ kid, block: Buffer.alloc(256, 255) })),
  bad('another private key', 'block', tokenSaying({ kid, privateKey: stranger }, everything)),
  bad('padding of block type 2', 'block', raw(typeTwo)),
  bad('octets behind the payload', 'block', raw(Buffer.concat([behind, Buffer.alloc(256 - behind.length)]))),
  bad('an empty payload', 'payload', tokenOf(key, Buffer.alloc(0))),
  bad('a signature, RS256', 'payload', formatKeySignedToken({ kid, block: sign('RSA-SHA256', payload, privateKey) })),
  bad('another version of the payload', 'payload', tokenOf(key, changed(0, 2))),
  bad('another purpose', 'payload', tokenOf(key, changed(1, 75))),
  bad('a wrong digest', 'payload', tokenOf(key, Buffer.concat([body, Buffer.alloc(32)]))),
  bad('an octet after the last field', 'payload', tokenOf(key, withDigest(Buffer.concat([body, Buffer.of(0)])))),
  bad('a field cut off', 'payload', tokenOf(key, withDigest(body.subarray(0, -1)))),
  bad('the reserved name', 'content', tokenOf(key, fields(hex('anonymous'), '', ''))),
  bad('a name with NUL', 'content', tokenOf(key, fields(hex('alice\0'), '', ''))),
  bad(
    'an IPv4 address in the form of IPv6',
    'content',
    tokenOf(key, fields('', '00000000000000000000ffffcb007107', '')),
  ),
  bad('an address of five octets', 'content', tokenOf(key, fields('', '0102030405', ''))),
  bad('a password hash cut off', 'content', tokenOf(key, fields('', '', '00'.repeat(53)))),
  bad('an audience cut off', 'content', tokenOf(key, fields('', '', '', '00'.repeat(15)))),
  bad('an audience that is too long', 'content', tokenOf(key, fields('', '', '', '00'.repeat(17)))),
  bad('two audiences', 'payload', tokenOf(key, fields('', '', '', '00'.repeat(16), '00'.repeat(16)))),
  bad(
    'a life of no time',
    'content',
    tokenOf(key, withDigest(Buffer.concat([body.subarray(0, 10), body.subarray(4, 10), body.subarray(16)]))),
  ),
  bad(
    'generation 0',
    'content',
    tokenOf(key, withDigest(Buffer.concat([body.subarray(0, 32), Buffer.alloc(6), body.subarray(38)]))),
  ),
]

/** The last letter of 342 says two bits of the block; the other four are zero. */
function withBitsThatMeanNothing(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return text.slice(0, -1) + alphabet.charAt(alphabet.indexOf(text.slice(-1)) + 1)
}

const file: KeySignedVectors = {
  about: 'Key-signed tokens, docs/key-signed-token.md. Times are seconds since the epoch, octets are in hex.',
  keys: [{ kty: 'RSA', kid, use: 'sig', alg: 'kst1', n: String(jwk.n), e: String(jwk.e) }],
  publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  vectors,
}
writeFileSync(join(import.meta.dirname, 'key-signed-tokens.json'), `${JSON.stringify(file, null, 2)}\n`)
