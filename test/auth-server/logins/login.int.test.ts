import { eq, sql } from 'drizzle-orm'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { beforeAll, expect, it } from 'vitest'
import { maxRevokedIds } from '../../../auth-server/logins/login.ts'
import { maxDisplacedLogins } from '../../../auth-server/logins/make-room.ts'
import { createPasswordHashing } from '../../../auth-server/passwords/password-hashing.ts'
import { loginFamilies, users } from '../../../auth-server/store/schema.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { type AuthCore, audience, createAuthCore, goodPassword, issuer, testKey } from '../support/auth-core.ts'
import { entriesDuring } from '../support/stored-entries.ts'
import { createTestClock } from '../support/test-clock.ts'

describeDatabases('login', (open) => {
  const clock = createTestClock()
  const { database } = databaseOfSuite(open)
  let core: AuthCore
  let serial = 0

  beforeAll(async () => {
    core = createAuthCore({ database, clock })
    await core.ensureAnonymous()
  })

  async function newUser(grants: { enabled?: boolean } = {}) {
    const username = `Login-${++serial}`
    return core.users.create({ username, password: goodPassword, ...grants })
  }
  async function storedHash(id: string) {
    const [row] = await database.drizzle.select().from(users).where(eq(users.id, id))
    return row?.passwordHash
  }
  const logIn = (username: string, password = goodPassword) => core.logIn({ username, password })

  it('answers a pair of tokens that say what docs/contract/callers.md#access-token says', async () => {
    const user = await newUser()
    const answer = await core.logIn({
      username: user.username.toUpperCase(),
      password: goodPassword,
      userAgent: 'test\0',
    })
    expect(answer).toMatchObject({ token_type: 'Bearer', expires_in: 1800, refresh_expires_in: 86_400 })
    expect(decodeProtectedHeader(answer.access_token)).toEqual({ alg: 'RS256', typ: 'at+jwt', kid: testKey.kid })
    const access = decodeJwt(answer.access_token)
    expect(access).toMatchObject({ iss: issuer, aud: audience, sub: user.username, client_id: 'keyhold', gen: 1 })
    expect(access).toMatchObject({ amr: ['pwd'], auth_time: access.iat })
    const names = ['amr', 'aud', 'auth_time', 'client_id', 'exp', 'gen', 'iat', 'iss', 'jti', 'sid', 'sub']
    expect(Object.keys(access).sort()).toEqual(names)
    expect((access.exp ?? 0) - (access.iat ?? 0)).toBe(answer.expires_in)
    expect(await core.verifyAccessToken(answer.access_token)).toMatchObject({ ok: true })
    expect(decodeProtectedHeader(answer.refresh_token)).toMatchObject({ alg: 'HS256', typ: 'refresh+jwt' })
    expect(decodeJwt(answer.refresh_token)).toMatchObject({ aud: `${issuer}/refresh`, sid: access.sid, ctr: 0 })
    expect(await core.verifyAccessToken(answer.refresh_token)).toMatchObject({ problem: 'invalid-token' })
  })

  it('refuses everybody it does not know in the same words', async () => {
    const user = await newUser()
    const disabled = await newUser({ enabled: false })
    const refusals: unknown[] = []
    for (const [username, password] of [
      [user.username, 'another password'],
      [user.username, ''],
      [user.username, 'x'.repeat(5000)],
      [disabled.username, goodPassword],
      ['nobody', goodPassword],
      ['anonymous', goodPassword],
      ['anonymous', ''],
      ['a\0b', goodPassword],
      ['\ud800', '\ud800'],
    ] as const) {
      refusals.push(
        await logIn(username, password).catch(({ code, message, members, headers }) => ({
          code,
          message,
          members,
          headers,
        })),
      )
    }
    expect(refusals[0]).toMatchObject({ code: 'invalid-credentials' })
    for (const refusal of refusals) expect(refusal).toEqual(refusals[0])
  })

  it('accepts the composed and the decomposed form of a password', async () => {
    const username = `Login-${++serial}`
    await core.users.create({ username, password: 'pa\u00e9sswort' })
    await expect(logIn(username, 'pae\u0301sswort')).resolves.toBeDefined()
  })

  it('never lives longer than LOGIN_MAX_TTL, however often refreshed', async () => {
    const short = createAuthCore({
      ...core,
      clock,
      lifetimes: { refreshTokenTtlSeconds: 3000, loginMaxTtlSeconds: 5000 },
    })
    const user = await newUser()
    const first = await short.logIn({ username: user.username, password: goodPassword })
    expect(first).toMatchObject({ expires_in: 1800, refresh_expires_in: 3000 })
    clock.advance(2900_000)
    const second = await short.refresh(first.refresh_token)
    expect(second).toMatchObject({ expires_in: 1800, refresh_expires_in: 2100 })
    clock.advance(2000_000)
    const third = await short.refresh(second.refresh_token)
    expect(third).toMatchObject({ expires_in: 100, refresh_expires_in: 100 })
    clock.advance(99_000)
    const fourth = await short.refresh(third.refresh_token)
    expect(fourth).toMatchObject({ expires_in: 1, refresh_expires_in: 1 })
    clock.advance(1000)
    await expect(short.refresh(fourth.refresh_token)).rejects.toMatchObject({ code: 'invalid_grant' })
  })

  it('hashes the password again when the parameters have changed', async () => {
    const user = await newUser()
    const stronger = createPasswordHashing({ concurrency: 1, parameters: { memoryKib: 128, passes: 1, lanes: 1 } })
    const hashOf = () => storedHash(user.id)
    expect(await hashOf()).toContain('m=64,')
    await core.logIn({ username: user.username, password: goodPassword })
    expect(await hashOf()).toContain('m=64,')
    const { createLogIn } = await import('../../../auth-server/logins/login.ts')
    await createLogIn({ ...core, hashing: stronger })({
      username: user.username,
      password: goodPassword,
      audience: null,
      clientAddress: '127.0.0.1',
    })
    expect(await hashOf()).toContain('m=128,')
    await expect(logIn(user.username)).resolves.toBeDefined()
  })

  it('replaces a hash that another system made at the first right login', async () => {
    const passwordHash = '$2b$06$abcdefghijklmnopqrstuuXjhdP0KWcWzfIk/fIVmuuqBBqKE3C/6'
    const [username, password] = [`Login-${++serial}`, 'Grüße vom alten System']
    const { id } = await core.users.create({ username, passwordHash })
    expect(await storedHash(id)).toBe(passwordHash)
    await expect(logIn(username, 'Grüße vom neuen System')).rejects.toMatchObject({ code: 'invalid-credentials' })
    expect(await storedHash(id)).toBe(passwordHash)
    await logIn(username, password)
    expect(await storedHash(id)).toMatch(/^\$argon2id\$v=19\$m=64,t=1,p=1\$/)
    await expect(logIn(username, password)).resolves.toBeDefined()
    await expect(logIn(username, `${password}!`)).rejects.toMatchObject({ code: 'invalid-credentials' })
  })

  it('keeps the whole password in place of the 72 bytes that bcrypt has of it', async () => {
    const [username, first] = [`Login-${++serial}`, 'x'.repeat(72)]
    const passwordHash = '$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i'
    const { id } = await core.users.create({ username, passwordHash })
    await logIn(username, `${first} and more`)
    expect(await storedHash(id)).toContain('argon2id')
    await expect(logIn(username, `${first} and more`)).resolves.toBeDefined()
    await expect(logIn(username, first)).rejects.toMatchObject({ code: 'invalid-credentials' })
  })

  it('refuses a login while too many ended ones are remembered, and says until when', async () => {
    const user = await newUser()
    await logIn(user.username)
    const now = clock.now()
    await database.drizzle.insert(loginFamilies).values(
      Array.from({ length: maxRevokedIds }, (_, at) => ({
        id: core.ids.uuid(),
        userId: user.id,
        usernameFolded: user.username.toLowerCase(),
        generation: 1,
        createdAt: new Date(now),
        lastUsedAt: new Date(now),
        expiresAt: new Date(now + 1e6),
        refreshExpiresAt: new Date(now + 1e6),
        tokensExpireAt: new Date(now + 90_500 + at * 1000),
        endedAt: new Date(now),
        endedReason: 'logout' as const,
      })),
    )
    await expect(logIn(user.username, 'another password')).rejects.toMatchObject({ code: 'invalid-credentials' })
    await expect(logIn(user.username)).rejects.toMatchObject({
      code: 'too-many-logins',
      retryAfterSeconds: 91,
    })
    expect((await core.record(user.username))?.revokedIds).toHaveLength(maxRevokedIds)
    clock.advance(91_000)
    await expect(logIn(user.username)).resolves.toBeDefined()
  })

  const withRoomFor = (maxLoginsPerUser: number) =>
    createAuthCore({
      database,
      clock,
      cache: core.cache,
      publisher: core.publisher,
      maxLoginsPerUser,
    })
  const sidOf = (answer: { access_token: string }) => String(decodeJwt(answer.access_token).sid)
  const refused = { code: 'invalid_grant' }

  it('ends the one longest not used when one more than may be begins, with its access tokens, and says which', async () => {
    const { username } = await newUser()
    const roomy = withRoomFor(3)
    const begin = () => {
      clock.advance(1000)
      return roomy.logIn({ username, password: goodPassword })
    }
    const [first, second, third] = [await begin(), await begin(), await begin()]
    clock.advance(1000)
    const kept = await roomy.refresh(first.refresh_token)
    let fourth = third
    const entries = await entriesDuring({ database, clock }, async () => {
      fourth = await begin()
    })
    expect(entries).toEqual([['login.ended', sidOf(second), 'displaced']])
    expect((await core.record(username))?.revokedIds).toEqual([sidOf(second)])
    await expect(roomy.refresh(second.refresh_token)).rejects.toMatchObject(refused)
    for (const alive of [kept, third, fourth]) await expect(roomy.refresh(alive.refresh_token)).resolves.toBeDefined()
  })

  it('leaves as many alive as may be when many begin at once', async () => {
    const { username } = await newUser()
    const roomy = withRoomFor(3)
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => roomy.logIn({ username, password: goodPassword })),
    )
    const ended = new Set((await core.record(username))?.revokedIds)
    expect(answers.filter((answer) => !ended.has(sidOf(answer)))).toHaveLength(3)
  })

  it('counts no login whose time is over, nor what the generation has ended', async () => {
    const { username } = await newUser()
    const roomy = withRoomFor(1)
    const begin = () => roomy.logIn({ username, password: goodPassword })
    const entries = await entriesDuring({ database, clock }, async () => {
      await begin()
      clock.advance(86_400_000)
      await begin()
      await core.users.logOutEverywhere(username)
      await begin()
    })
    expect(entries).toEqual([])
  })

  it('locks nobody out by a flood of logins: where too many would be remembered, all others end at once', async () => {
    const user = await newUser()
    const { username } = user
    const roomy = withRoomFor(2)
    const begin = () => {
      clock.advance(1000)
      return roomy.logIn({ username, password: goodPassword })
    }
    const [first, second] = [await begin(), await begin()]
    const displaced = (reason: 'displaced') => ({
      id: core.ids.uuid(),
      userId: user.id,
      usernameFolded: username.toLowerCase(),
      generation: 1,
      createdAt: new Date(clock.now()),
      lastUsedAt: new Date(clock.now()),
      endedAt: new Date(clock.now()),
      expiresAt: new Date(clock.now() + 1e6),
      refreshExpiresAt: new Date(clock.now() + 1e6),
      tokensExpireAt: new Date(clock.now() + 1e6),
      endedReason: reason,
    })
    const many = Array.from({ length: maxDisplacedLogins }, () => displaced('displaced'))
    await database.drizzle.insert(loginFamilies).values(many)
    let third = second
    const entries = await entriesDuring({ database, clock }, async () => {
      third = await begin()
    })
    expect(entries).toEqual([['user.logged-out', username, 'displaced']])
    const keptLogin = { id: sidOf(third), generation: 1 }
    expect(await core.record(username)).toMatchObject({ generation: 2, keptLogin, revokedIds: [] })
    for (const { refresh_token: token } of [first, second])
      await expect(roomy.refresh(token)).rejects.toMatchObject(refused)
    const fourth = await begin()
    for (const alive of [third, fourth]) await expect(roomy.refresh(alive.refresh_token)).resolves.toBeDefined()
    // Those of the former generation are remembered no more: one login ends again.
    const later = await entriesDuring({ database, clock }, async () => void (await begin()))
    expect(later).toEqual([['login.ended', expect.any(String), 'displaced']])
  })

  it('ends with its user, and a login of the same name again is another', async () => {
    const user = await newUser()
    const before = await logIn(user.username)
    await core.users.delete(user.username)
    await expect(logIn(user.username)).rejects.toMatchObject({ code: 'invalid-credentials' })
    await expect(core.refresh(before.refresh_token)).rejects.toMatchObject({ code: 'invalid_grant' })
    await core.users.create({ username: user.username, password: goodPassword })
    await expect(core.refresh(before.refresh_token)).rejects.toMatchObject({ code: 'invalid_grant' })
    const after = await logIn(user.username)
    expect(Number(decodeJwt(after.access_token).gen)).toBeGreaterThan(Number(decodeJwt(before.access_token).gen))
  })

  it('never hands out tokens that outlive a change made meanwhile', async () => {
    const user = await newUser()
    const changes = [
      () => core.users.logOutEverywhere(user.username),
      () => core.passwords.reset({ username: user.username, newPassword: 'yet another one' }),
      () => core.passwords.reset({ username: user.username, newPassword: goodPassword }),
      () => core.users.patch(user.username, { enabled: false }),
      () => core.users.patch(user.username, { enabled: true }),
    ]
    for (const change of changes) {
      const [attempt] = await Promise.allSettled([logIn(user.username), change()])
      if (attempt.status === 'rejected') expect(attempt.reason).toMatchObject({ code: 'invalid-credentials' })
      await core.users.logOutEverywhere(user.username)
      if (attempt.status === 'fulfilled') {
        await expect(core.refresh(attempt.value.refresh_token)).rejects.toMatchObject({ code: 'invalid_grant' })
      }
    }
    const [row] = await database.drizzle
      .select({ stored: sql<string>`string_agg(successor_sealed, '')` })
      .from(loginFamilies)
    expect(row?.stored ?? '').not.toMatch(/eyJ[\w-]*\.eyJ/)
  })
})
