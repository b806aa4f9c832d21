/**
 * Hashes that another system made of its users' passwords (docs/contract/accounts.md#hashes-of-other-systems). Their
 * cost is bounded: whoever knows a user's name can have them compared.
 */
import { timingSafeEqual } from 'node:crypto'
import { argon2 } from '../../shared/platform/crypto/argon2-threads.ts'
import type { MemberError } from '../../shared/platform/problems/problem-document.ts'

type Compare = (password: string) => Promise<boolean>

/** The fields of a hash in the order of the text. */
type Found = readonly string[]

/** A form of hashes. `comparison` is undefined for a cost out of bounds. */
interface Form {
  readonly pattern: RegExp
  comparison(hash: Found): Compare | undefined
}

/** Of scrypt, in bytes; the function itself takes a little more. */
const maxMemory = 256 * 1024 * 1024

const argon2id: Form = {
  pattern: /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,64})\$([A-Za-z0-9+/]{22,86})$/,
  comparison: ([hash = '', m, t, p, salt = '', digest = '']) => {
    const [memoryKib, passes, lanes] = [Number(m), Number(t), Number(p)]
    const isBounded = memoryKib <= 2 ** 20 && passes <= 20 && lanes <= 16 && memoryKib * passes <= 2 ** 22
    if (!isBounded || memoryKib < 8 * lanes || passes < 1 || lanes < 1) return undefined
    // The library decodes nothing else.
    if ([salt, digest].some((text) => bytesOf(text).toString('base64').replace(/=+$/, '') !== text)) return undefined
    return (password) => argon2.verify(hash, password.normalize('NFC'))
  },
}

const bcrypt: Form = {
  pattern: /^\$2[aby]\$(?:0[4-9]|1[0-5])\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{30}[.CGKOSWaeimquy26]$/,
  comparison:
    ([hash = '']) =>
    // The C function that all others imitate takes a text to its first NUL, and 72 bytes of it.
    (password) =>
      argon2.verifyBcrypt(hash, password.split('\0')[0] ?? ''),
}

const scrypt: Form = {
  pattern: /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{6,172})\$([A-Za-z0-9+/]{22,86})$/,
  comparison: ([_hash, ln, r, p, salt = '', digest = '']) => {
    const [cost, blockSize, parallelization] = [2 ** Number(ln), Number(r), Number(p)]
    const memory = 128 * cost * blockSize
    // Lanes run one after another, so their time is bounded as if they ran at once.
    const isBounded = cost > 1 && blockSize > 0 && parallelization > 0 && memory * parallelization <= maxMemory
    if (!isBounded) return undefined
    const options = { cost, blockSize, parallelization, maxmem: 2 * maxMemory }
    return (password) =>
      isDigest(digest, (length) => argon2.digest('scrypt', [password, bytesOf(salt), length, options]))
  },
}

const outputBytes: Readonly<Record<string, number>> = { sha1: 20, sha256: 32, sha512: 64 }

const pbkdf2: Form = {
  pattern:
    /^\$pbkdf2-(sha1|sha256|sha512)\$(?:i=)?(\d{4,7})(?:,l=\d+)?\$([A-Za-z0-9+/.]{6,172})\$([A-Za-z0-9+/.]{22,86})$/,
  comparison: ([_hash, digestName = '', iterations, salt = '', digest = '']) => {
    const count = Number(iterations)
    // Each further length of the hash function's own output costs all iterations once more.
    const outputs = Math.ceil(bytesOf(digest).length / (outputBytes[digestName] ?? 1))
    if (count < 1000 || count * outputs > 5_000_000) return undefined
    return (password) =>
      isDigest(digest, (length) => argon2.digest('pbkdf2', [password, bytesOf(salt), count, length, digestName]))
  },
}

/** The bytes of a text in Base64; passlib writes a point for the plus. */
const bytesOf = (text: string): Buffer => Buffer.from(text.replaceAll('.', '+'), 'base64')

async function isDigest(text: string, make: (length: number) => Promise<Buffer>): Promise<boolean> {
  const digest = bytesOf(text)
  return timingSafeEqual(await make(digest.length), digest)
}

/** How passwords are compared with this hash; undefined for one that is not accepted. */
export function comparisonOf(hash: string): Compare | undefined {
  for (const { pattern, comparison } of [argon2id, bcrypt, scrypt, pbkdf2]) {
    const found = pattern.exec(hash)
    if (found) return comparison(found)
  }
  return undefined
}

/** The problem of a hash in place of a new password. It never contains the hash. */
export const hashProblems = (hash: string): MemberError[] =>
  comparisonOf(hash)
    ? []
    : [
        {
          pointer: '/passwordHash',
          code: 'hash-form',
          message: 'must be a hash of Argon2id, bcrypt, scrypt or PBKDF2 in one of the accepted forms and costs',
        },
      ]
