import { describe, expect, it } from 'vitest'
import { createHashingPermits, type WithHashingPermit } from '../../../../../shared/platform/crypto/hashing-permits.ts'
import { ProblemError } from '../../../../../shared/platform/problems/errors.ts'
import { createTokenPasswords } from '../../../../../shared/protocol/authentication/key-signed/key-signed-password.ts'
import type { Attempt, LoginThrottle } from '../../../../../shared/protocol/authentication/login-throttle.ts'
import type { KeySignedClaims } from '../../../../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { digestTokenPassword } from '../../../../../shared/protocol/key-signed-token/token-password.ts'

const cost = { memoryKib: 64, passes: 1, lanes: 1, salt: Buffer.alloc(16, 3) }
const passwordHash = { ...cost, digest: await digestTokenPassword('right password', cost) }
const claims: KeySignedClaims = {
  iat: 1000,
  exp: 1060,
  jti: '01890a5d-ac96-774b-bcce-b302099a8057',
  gen: 1,
  sub: 'alice',
  address: null,
  passwordHash,
  audience: null,
}
const address = '203.0.113.7'

const encoded = (password: string): string => Buffer.from(password).toString('base64url')

/** The check with everything it rests on written down. */
function open(withPermit: WithHashingPermit = createHashingPermits({ concurrency: 1 })) {
  let now = 1_000_000
  const hashes = { begun: 0 }
  const attempts: (Attempt & { failed: boolean })[] = []
  const judged: Attempt[] = []
  const locked = { out: false }
  const loginThrottle: Pick<LoginThrottle, 'attempt' | 'judge'> = {
    judge: (attempt) => {
      judged.push(attempt)
      return locked.out ? Promise.reject(new ProblemError('too-many-attempts', 'Wait.')) : undefined
    },
    attempt: async (attempt, check) => {
      const result = await check()
      attempts.push({ ...attempt, failed: result === undefined })
      return result
    },
  }
  const counted: WithHashingPermit = (work) => {
    hashes.begun += 1
    return withPermit(work)
  }
  const clock = { now: () => now, monotonic: () => now }
  const passwords = createTokenPasswords({ withPermit: counted, loginThrottle, clock })
  const pass = (milliseconds: number) => {
    now += milliseconds
  }
  return { passwords, hashes, attempts, judged, locked, pass }
}

describe('the password of a key-signed token', () => {
  it('is hashed once as long as the token lives, and counts as one attempt', async () => {
    const { passwords, hashes, attempts, pass } = open()
    const attempt = { token: 'kst1', field: encoded('right password'), address }
    expect(await passwords.isRight(claims, attempt)).toBe(true)
    pass(59_999)
    expect(passwords.isRight(claims, attempt)).toBe(true)
    expect({ hashes: hashes.begun, attempts }).toEqual({
      hashes: 1,
      attempts: [{ account: 'alice', address, failed: false }],
    })
    pass(2)
    expect(await passwords.isRight(claims, attempt)).toBe(true)
    expect(hashes.begun).toBe(2)
  })

  it('is judged by the limits when it is known, too', async () => {
    const { passwords, judged, locked } = open()
    const attempt = { token: 'kst1', field: encoded('right password'), address }
    await passwords.isRight(claims, attempt)
    expect(passwords.isRight(claims, attempt)).toBe(true)
    expect(judged).toEqual([{ account: 'alice', address }])
    locked.out = true
    await expect(passwords.isRight(claims, attempt)).rejects.toMatchObject({ code: 'too-many-attempts' })
  })

  it('is known for the address that proved it alone', async () => {
    const { passwords, attempts, hashes } = open()
    for (const from of [address, '203.0.113.8', address]) {
      expect(await passwords.isRight(claims, { token: 'kst1', field: encoded('right password'), address: from })).toBe(
        true,
      )
    }
    expect({ hashes: hashes.begun, from: attempts.map((attempt) => attempt.address) }).toEqual({
      hashes: 2,
      from: [address, '203.0.113.8'],
    })
  })

  it.each(['a', 'ab', 'abc'])('may be padded as base64url is: %j', async (end) => {
    const password = `right password ${end}`
    const own = { ...claims, passwordHash: { ...cost, digest: await digestTokenPassword(password, cost) } }
    const padded = Buffer.from(password).toString('base64').replaceAll('+', '-').replaceAll('/', '_')
    const { passwords } = open()
    expect(await passwords.isRight(own, { token: 'kst1', field: padded, address })).toBe(true)
    expect(await passwords.isRight(own, { token: 'kst1', field: padded.replace(/=+$/, ''), address })).toBe(true)
    expect(() => passwords.isRight(own, { token: 'kst1', field: `${padded}=`, address })).toThrow(ProblemError)
  })

  it('is never remembered when it is wrong: each try is hashed and counted', async () => {
    const { passwords, hashes, attempts } = open()
    for (let round = 0; round < 3; round += 1) {
      expect(await passwords.isRight(claims, { token: 'kst1', field: encoded('wrong password'), address })).toBe(false)
    }
    expect({ hashes: hashes.begun, failed: attempts.map(({ failed }) => failed) }).toEqual({
      hashes: 3,
      failed: [true, true, true],
    })
  })

  it('is remembered for its own token alone', async () => {
    const { passwords, hashes } = open()
    const field = encoded('right password')
    await passwords.isRight(claims, { token: 'kst1', field, address })
    const other = { ...claims, jti: '01890a5d-ac96-774b-bcce-b302099a8058' }
    const stranger = { ...other, passwordHash: { ...passwordHash, digest: Buffer.alloc(32) } }
    expect(await passwords.isRight(stranger, { token: 'kst1', field, address })).toBe(false)
    expect(await passwords.isRight(other, { token: 'kst1', field, address })).toBe(true)
    expect(hashes.begun).toBe(3)
  })

  it('is counted for the token itself where that names nobody', async () => {
    const { passwords, attempts } = open()
    await passwords.isRight({ ...claims, sub: null }, { token: 'kst1', field: encoded('wrong password'), address })
    expect(attempts).toEqual([{ account: claims.jti, actor: 'anonymous', address, failed: true }])
  })

  it('is hashed once for many who send it at once, each of whom counts', async () => {
    const { passwords, hashes, attempts } = open()
    for (const [password, isRight] of [
      ['wrong password', false],
      ['right password', true],
    ] as const) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          passwords.isRight(claims, { token: 'kst1', field: encoded(password), address: `203.0.113.${index}` }),
        ),
      )
      expect(answers).toEqual(Array(20).fill(isRight))
    }
    expect(hashes.begun).toBe(2)
    expect(new Set(attempts.map((attempt) => attempt.address)).size).toBe(20)
    expect(attempts.length).toBe(40)
  })

  it('is refused with 503 while too many wait to be hashed', async () => {
    const { passwords } = open(createHashingPermits({ concurrency: 1, maxQueued: 1 }))
    const tries = ['a', 'b', 'c'].map(async (password) =>
      passwords.isRight(claims, { token: 'kst1', field: encoded(password), address }),
    )
    const settled = await Promise.allSettled(tries)
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    expect(settled[2]).toMatchObject({ reason: { name: 'Unavailable', dependency: 'hashing' } })
    expect(await passwords.isRight(claims, { token: 'kst1', field: encoded('right password'), address })).toBe(true)
  })

  it('is not looked at once there were too many guesses', async () => {
    const refuse = () => Promise.reject(new ProblemError('too-many-attempts', 'Wait.'))
    const loginThrottle = { attempt: refuse, judge: refuse }
    const withPermit: WithHashingPermit = () => Promise.reject(new Error('hashed'))
    const clock = { now: () => 1_000_000, monotonic: () => 0 }
    const passwords = createTokenPasswords({ withPermit, loginThrottle, clock })
    const tried = passwords.isRight(claims, { token: 'kst1', field: encoded('right password'), address })
    await expect(tried).rejects.toMatchObject({ code: 'too-many-attempts' })
  })
})
