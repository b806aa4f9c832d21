/**
 * Hashes of other systems. The vectors with "Grüße" are of Python 3.11 (`hashlib`) and of libxcrypt (`crypt`); the
 * others are of the RFCs.
 */
import { describe, expect, it } from 'vitest'
import { comparisonOf, hashProblems } from '../../../auth-server/passwords/foreign-hashes.ts'
import { createPasswordHashing } from '../../../auth-server/passwords/password-hashing.ts'

const password = 'Grüße vom alten System'
const salt = 'YSBzYWx0IG9mIDE2IGJ5dA'
const bcryptOf = (version: string) => `$${version}$06$abcdefghijklmnopqrstuuXjhdP0KWcWzfIk/fIVmuuqBBqKE3C/6`
const sha256 = 'aLdyQo7vovanjFve3ue0OMsFw27mDaa9y/Pjq001H4w'

const hashes: readonly (readonly [string, string, string])[] = [
  ['bcrypt, $2a$', bcryptOf('2a'), password],
  ['bcrypt, $2b$', bcryptOf('2b'), password],
  ['bcrypt, $2y$', bcryptOf('2y'), password],
  ['scrypt', `$scrypt$ln=14,r=8,p=5$${salt}$B1iZEMXwvdpPOGRLUrf4Fjvc4+lhX4HLJ8KJ5L+yKbw`, password],
  [
    'scrypt (RFC 7914 §12), many lanes',
    '$scrypt$ln=10,r=8,p=16$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWIurzDZLiKjiG/xCSedmDDaxyevuUqD7m2DYMvfoswGQA',
    'password',
  ],
  [
    'scrypt (RFC 7914 §12)',
    '$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw',
    'pleaseletmein',
  ],
  ['PBKDF2, SHA-1 (RFC 6070, 4,096 iterations)', '$pbkdf2-sha1$i=4096$c2FsdA$SwB5AbdlSJq+rUnZJvch0GWkKcE', 'password'],
  ['PBKDF2, SHA-1', `$pbkdf2-sha1$i=10000$${salt}$gxqkQpdQPgtH5vGmzZT6wXG2KUc`, password],
  ['PBKDF2, SHA-256', `$pbkdf2-sha256$i=10000$${salt}$${sha256}`, password],
  ['PBKDF2, SHA-256, with the length', `$pbkdf2-sha256$i=10000,l=32$${salt}$${sha256}`, password],
  ['PBKDF2, SHA-256, as passlib writes it', `$pbkdf2-sha256$10000$${salt}$${sha256.replaceAll('+', '.')}`, password],
  [
    'PBKDF2, SHA-512',
    `$pbkdf2-sha512$i=10000$${salt}$uqZhpP5vX9yS4wK1jI0QbNOAB7lzCD4XIMS2n0egIYqytZ+WejGWGAD22nKUZPBE2qQoJBbrVRtIGg3OS7qh0Q`,
    password,
  ],
  [
    'Argon2id of other parameters',
    '$argon2id$v=19$m=64,t=3,p=4$Vwz2SeTSv2LtOj4q9vANbA$X8hqnkX3HMswokxrnto9JdXwAfLZwjUU7spAWB7KOWQ',
    password,
  ],
]

const argon2id = (cost: string) => `$argon2id$v=19$${cost}$${salt}$${sha256}`
const scrypt = (cost: string) => `$scrypt$${cost}$${salt}$${sha256}`
const pbkdf2 = (iterations: string, digest = sha256) => `$pbkdf2-sha256$${iterations}$${salt}$${digest}`
const long = 'A'.repeat(86)

describe('a hash of another system', () => {
  const hashing = createPasswordHashing({ concurrency: 2 })

  it.each(hashes)('is accepted, and no other password is that of it: %s', async (_form, hash, right) => {
    expect(hashProblems(hash)).toEqual([])
    expect(await hashing.verify(hash, right)).toBe(true)
    expect(await hashing.verify(hash, `${right}!`)).toBe(false)
    expect(await hashing.verify(hash, '')).toBe(false)
    expect(hashing.needsRehash(hash)).toBe(true)
  })

  it('by bcrypt has no more than 72 bytes of a password, and nothing after a NUL', async () => {
    const hash = '$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i'
    for (const more of ['', 'y', '\0', 'y'.repeat(900)]) {
      expect(await hashing.verify(hash, 'x'.repeat(72) + more)).toBe(true)
    }
    expect(await hashing.verify(hash, `${'x'.repeat(71)}\0`)).toBe(false)
    expect(await hashing.verify('$2b$04$abcdefghijklmnopqrstuubyCG3zY1GIXMyxfivm.ClDiInHzxjiq', '')).toBe(true)
  })

  it.each([
    ['the last bounds of Argon2id', argon2id('m=1048576,t=4,p=16')],
    ['the last passes of Argon2id', argon2id('m=65536,t=20,p=1')],
    ['the last cost of bcrypt', bcryptOf('2b').replace('$06$', '$15$')],
    ['256 MiB of scrypt', scrypt('ln=18,r=8,p=1')],
    ['the last iterations of PBKDF2', pbkdf2('i=5000000')],
  ])('is accepted within its bounds: %s', (_what, hash) => {
    expect(comparisonOf(hash)).toBeDefined()
  })

  it.each([
    ['too much memory of Argon2id', argon2id('m=1048577,t=1,p=1')],
    ['too many passes of Argon2id', argon2id('m=19456,t=21,p=1')],
    ['too many lanes of Argon2id', argon2id('m=19456,t=2,p=17')],
    ['too much memory in too many passes', argon2id('m=1048576,t=5,p=1')],
    ['less memory than lanes need', argon2id('m=31,t=2,p=4')],
    ['no passes', argon2id('m=64,t=0,p=1')],
    ['no lanes', argon2id('m=64,t=1,p=0')],
    ['Argon2 of an older version', argon2id('m=64,t=1,p=1').replace('v=19', 'v=16')],
    ['Argon2i', argon2id('m=64,t=1,p=1').replace('argon2id', 'argon2i')],
    ['a cost of bcrypt below 4', bcryptOf('2b').replace('$06$', '$03$')],
    ['a cost of bcrypt above 15', bcryptOf('2b').replace('$06$', '$16$')],
    ['the faulty bcrypt of $2x$', bcryptOf('2x')],
    ['a bcrypt that is cut off', bcryptOf('2b').slice(0, -1)],
    ['more than 256 MiB of scrypt', scrypt('ln=18,r=9,p=1')],
    ['too many lanes of scrypt', scrypt('ln=17,r=8,p=3')],
    ['scrypt without blocks', scrypt('ln=14,r=0,p=1')],
    ['scrypt without lanes', scrypt('ln=14,r=8,p=0')],
    ['scrypt of cost 1', scrypt('ln=0,r=8,p=1')],
    ['too few iterations of PBKDF2', pbkdf2('i=0999')],
    ['too many iterations of PBKDF2', pbkdf2('i=5000001')],
    ['too many iterations for a long digest', pbkdf2('i=2500001', long)],
    ['a digest of PBKDF2 that is too short', pbkdf2('i=10000', 'A'.repeat(21))],
    ['a digest of PBKDF2 that is too long', pbkdf2('i=10000', `${long}A`)],
    ['another hash function', pbkdf2('i=10000').replace('sha256', 'md5')],
    ['a salt of Argon2id that is no Base64', argon2id('m=64,t=1,p=1').replace(salt, salt.slice(0, -1))],
    ['a digest of Argon2id with bits behind its end', argon2id('m=64,t=1,p=1').replace(/w$/, 'x')],
    ['a bcrypt with bits behind its end', bcryptOf('2b').replace(/6$/, '7')],
    ['a plain password', password],
    ['nothing', ''],
    ['a form with more behind it', `${bcryptOf('2b')}\n`],
  ])('is refused, and not repeated: %s', (_what, hash) => {
    const problems = hashProblems(hash)
    expect(problems).toMatchObject([{ pointer: '/passwordHash', code: 'hash-form' }])
    if (hash) expect(JSON.stringify(problems)).not.toContain(hash)
  })
})
