import { describe, expect, it } from 'vitest'
import { commonPasswordCount, isCommonPassword } from '../../../auth-server/passwords/common-passwords.ts'
import { createPasswordHashing } from '../../../auth-server/passwords/password-hashing.ts'
import { exceedsPasswordLimit, passwordProblems } from '../../../auth-server/passwords/password-policy.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'

const cheap = { memoryKib: 64, passes: 1, lanes: 1 }

describe('the password policy', () => {
  const problemsOf = (password: string, username = 'alice') => passwordProblems({ password, username }, '/newPassword')

  it.each([
    ['eight characters', '8 chars!'],
    ['letters of two bytes', 'pässwörter'],
    ['1024 bytes', 'x'.repeat(1024)],
    ['blanks', '        '],
    ['eight characters of four bytes', '🔑🔑🔒🔒🗝🗝🔐🔐'],
    ['words with the name among them', 'alice-demo-password'],
    ['words with the product’s name among them', 'in keyhold we trust'],
  ])('accepts %s', (_what, password) => {
    expect(problemsOf(password)).toEqual([])
  })

  it.each([
    ['nothing', '', 'password-too-short'],
    ['seven characters', 'seven77', 'password-too-short'],
    ['two characters of eight bytes', '🔑🔑', 'password-too-short'],
    ['seven characters that are more when decomposed', 'pässwör'.normalize('NFD'), 'password-too-short'],
    ['1025 bytes', 'x'.repeat(1025), 'password-too-long'],
    ['513 letters of two bytes', 'é'.repeat(513), 'password-too-long'],
    ['a common one', 'iloveyou', 'password-common'],
    ['a common one in capitals', 'PassWord1', 'password-common'],
    ['a common one with punctuation', 'Password1!', 'password-common'],
    ['the product’s name with a digit', 'keyhold1', 'password-name'],
    ['the product’s name amid punctuation', '--KeyHold--', 'password-name'],
    ['the user’s name with a year', 'Alice2026!', 'password-name'],
    ['the user’s name twice', 'alice.alice', 'password-name'],
    ['the user’s name and the product’s', 'alice@keyhold', 'password-name'],
    ['NUL', 'with\0 NUL inside', 'password-characters'],
    ['a lone surrogate', 'lone \ud800 surrogate', 'password-characters'],
  ])('refuses %s, and does not repeat it', (_what, password, code) => {
    const problems = problemsOf(password)
    expect(problems).toMatchObject([{ pointer: '/newPassword', code }])
    if (password) expect(JSON.stringify(problems)).not.toContain(password)
  })

  it('counts the bytes of the composed form', () => {
    expect(problemsOf('e\u0301'.repeat(512))).toEqual([])
    expect(exceedsPasswordLimit('e\u0301'.repeat(512))).toBe(false)
    expect(exceedsPasswordLimit('x'.repeat(1025))).toBe(true)
  })
})

describe('the passwords known from breaches', () => {
  it('are more than 100,000, and cost little memory', () => {
    isCommonPassword('the list is read by now')
    expect(commonPasswordCount()).toBeGreaterThan(100_000)
    expect(commonPasswordCount() * 5).toBeLessThan(2_000_000)
  })

  it.each(['password1!', 'qwertyuiop', 'liverpool1', 'abcdefgh1', '123456789a', 'charlie1'])('have %s', (password) => {
    expect(isCommonPassword(password)).toBe(true)
  })

  it('have few others: of a thousand made up none', () => {
    const madeUp = Array.from({ length: 1_000 }, (_, at) => `made up for this test, number ${at}`)
    expect(madeUp.filter(isCommonPassword)).toEqual([])
  })
})

describe('password hashing', () => {
  it('makes Argon2id hashes at OWASP’s floor', async () => {
    const hashing = createPasswordHashing({ concurrency: 1 })
    const hash = await hashing.hash('long enough')
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await hashing.verify(hash, 'long enough')).toBe(true)
    expect(await hashing.verify(hash, 'long enough ')).toBe(false)
    expect(hashing.needsRehash(hash)).toBe(false)
    expect(createPasswordHashing({ concurrency: 1, parameters: cheap }).needsRehash(hash)).toBe(true)
  })

  it('takes the same time, and says no, where there is no hash', async () => {
    const hashing = createPasswordHashing({ concurrency: 1 })
    const hash = await hashing.hash('long enough')
    // Processor time of all threads: other processes do not add to it. Its two parts are estimates, their sum is none.
    const timed = async (against: string | null) => {
      const began = process.cpuUsage()
      expect(await hashing.verify(against, 'wrong password')).toBe(false)
      const { user, system } = process.cpuUsage(began)
      return user + system
    }
    // In turn, and the shortest of each: whatever else this process does only makes a turn longer.
    let [known, unknown] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    for (let times = 0; times < 25; times += 1) {
      known = Math.min(known, await timed(hash))
      unknown = Math.min(unknown, await timed(null))
    }
    expect(unknown / known).toBeGreaterThan(0.5)
    expect(unknown / known).toBeLessThan(2)
  })

  it('sheds what its queue cannot hold, and goes on afterwards', async () => {
    const hashing = createPasswordHashing({ concurrency: 2, maxQueued: 3, parameters: cheap })
    const outcomes = await Promise.allSettled(Array.from({ length: 9 }, () => hashing.hash('long enough')))
    const shed = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(shed).toHaveLength(4)
    for (const { reason } of shed) expect(reason).toMatchObject({ dependency: 'hashing', retryAfterSeconds: 1 })
    expect(shed[0]?.reason).toBeInstanceOf(Unavailable)
    const after = await Promise.allSettled(Array.from({ length: 5 }, () => hashing.hash('long enough')))
    expect(after.every(({ status }) => status === 'fulfilled')).toBe(true)
  })

  it('gives its permit back when a hash fails', async () => {
    const hashing = createPasswordHashing({ concurrency: 1, maxQueued: 0, parameters: cheap })
    await expect(hashing.verify('not a hash', 'x')).rejects.toThrow()
    await expect(hashing.hash('long enough')).resolves.toBeDefined()
  })
})
