import { hash as argon2Hash } from '@node-rs/argon2'
import { eq } from 'drizzle-orm'
import { beforeAll, expect, it } from 'vitest'
import {
  createKeySignedLogin,
  type KeySignedPart,
  keySignedParts,
} from '../../../auth-server/logins/key-signed-login.ts'
import { users } from '../../../auth-server/store/schema.ts'
import type { KeySignedClaims } from '../../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { isTokenPassword } from '../../../shared/protocol/key-signed-token/token-password.ts'
import { createKeySignedVerifier } from '../../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { type AuthCore, createAuthCore, goodPassword, testKey } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'

const clientAddress = '203.0.113.7'

describeDatabases('a login for a key-signed token', (open) => {
  const clock = createTestClock()
  const verify = createKeySignedVerifier({ keys: { key: () => testKey.publicKey }, clock })
  const { database } = databaseOfSuite(open)
  let core: AuthCore
  let serial = 0

  beforeAll(async () => {
    core = createAuthCore({ database, clock })
    await core.ensureAnonymous()
  })

  const newUser = async () =>
    (await core.users.create({ username: `Token-${++serial}`, password: goodPassword })).username

  /**
   * Logging in, with something else that happens right after the password was compared, or while it is hashed for the
   * token.
   */
  const loggingIn = (
    meanwhile: { compared?: () => Promise<unknown>; hashing?: () => Promise<unknown> } = {},
  ): ReturnType<typeof createKeySignedLogin> => {
    let once = meanwhile
    const hashing: AuthCore['hashing'] = {
      ...core.hashing,
      verify: async (...args) => {
        const matches = await core.hashing.verify(...args)
        await once.compared?.()
        once = { ...once, compared: async () => undefined }
        return matches
      },
      withPermit: Object.assign(
        async <Result>(work: () => Promise<Result>): Promise<Result> => {
          await once.hashing?.()
          return core.hashing.withPermit(work)
        },
        { load: core.hashing.withPermit.load },
      ),
    }
    return createKeySignedLogin({ ...core, hashing })
  }

  const claimsOf = async (
    logIn: ReturnType<typeof createKeySignedLogin>,
    username: string,
    include: readonly KeySignedPart[],
  ): Promise<KeySignedClaims> => {
    const login = { username, password: goodPassword, include, clientAddress, audience: null }
    const { token, kid, expiresAt } = await logIn(login)
    const verdict = verify(token)
    if (!verdict.ok) throw new Error('not a token')
    expect({ kid, expiresAt }).toEqual({ kid: testKey.kid, expiresAt: verdict.claims.exp })
    return verdict.claims
  }

  it('gives a token that says what was asked for, and no more', async () => {
    const username = await newUser()
    for (let bits = 0; bits < 8; bits += 1) {
      const include = keySignedParts.filter((_part, at) => (bits & (1 << at)) !== 0)
      const claims = await claimsOf(loggingIn(), username.toUpperCase(), include)
      expect(claims).toMatchObject({
        sub: include.includes('username') ? username : null,
        address: include.includes('ip') ? clientAddress : null,
        gen: 1,
      })
      expect(claims.exp - claims.iat).toBe(600)
      expect(claims.passwordHash !== null).toBe(include.includes('password'))
    }
  })

  it('hashes the password again for each token, and never gives away the stored hash', async () => {
    const username = await newUser()
    const [first, second] = [
      (await claimsOf(loggingIn(), username, ['password'])).passwordHash,
      (await claimsOf(loggingIn(), username, ['password'])).passwordHash,
    ]
    if (!first || !second) throw new Error('no hash')
    expect(first.salt.equals(second.salt)).toBe(false)
    expect(await isTokenPassword(first, goodPassword)).toBe(true)
    expect(await isTokenPassword(first, `${goodPassword}!`)).toBe(false)
    const [row] = await core.database.drizzle.select().from(users).where(eq(users.username, username))
    for (const part of [first.salt, first.digest, second.salt, second.digest]) {
      expect(row?.passwordHash).not.toContain(part.toString('base64').replace(/=+$/, ''))
    }
  })

  it('knows the password of the token in any normal form', async () => {
    const password = 'Zu\u0308rich am See'
    const { username } = await core.users.create({ username: `Token-${++serial}`, password })
    const { token } = await loggingIn()({ username, password, include: ['password'], clientAddress, audience: null })
    const verdict = verify(token)
    const hash = verdict.ok ? verdict.claims.passwordHash : null
    expect(hash && (await isTokenPassword(hash, 'Z\u00fcrich am See'))).toBe(true)
  })

  it('refuses a password that was changed while it was compared, and a user who was disabled or deleted then', async () => {
    const changes: ((username: string) => Promise<unknown>)[] = [
      (username) => core.passwords.reset({ username, newPassword: 'another good password' }),
      (username) => core.users.patch(username, { enabled: false }),
      (username) => core.users.delete(username),
    ]
    for (const change of changes) {
      for (const include of [['username'], []] as const) {
        const username = await newUser()
        const login = loggingIn({ compared: () => change(username) })
        const request = { username, password: goodPassword, include, clientAddress, audience: null }
        await expect(login(request)).rejects.toMatchObject({ code: 'invalid-credentials' })
      }
    }
  })

  it('gives a token that is dead already when the password changes after that', async () => {
    const username = await newUser()
    const change = () => core.passwords.reset({ username, newPassword: 'another good password' })
    const claims = await claimsOf(loggingIn({ hashing: change }), username, ['username', 'password'])
    expect((await core.record(username))?.generation).toBeGreaterThan(claims.gen)
  })

  it('lets pass that the same password was hashed again meanwhile', async () => {
    const username = await newUser()
    const rehash = async () => {
      const passwordHash = await argon2Hash(goodPassword, { memoryCost: 64, timeCost: 1 })
      await core.database.drizzle.update(users).set({ passwordHash }).where(eq(users.username, username))
    }
    expect(await claimsOf(loggingIn({ compared: rehash }), username, ['username'])).toMatchObject({ sub: username })
  })

  it('carries the generation of anonymous where it names nobody', async () => {
    const username = await newUser()
    await core.users.logOutEverywhere('anonymous')
    await core.users.logOutEverywhere(username)
    await core.users.logOutEverywhere(username)
    const [anonymous, own] = [await core.record('anonymous'), await core.record(username)]
    expect(own?.generation).not.toBe(anonymous?.generation)
    expect((await claimsOf(loggingIn(), username, ['ip'])).gen).toBe(anonymous?.generation)
    expect((await claimsOf(loggingIn(), username, ['username'])).gen).toBe(own?.generation)
  })
})
