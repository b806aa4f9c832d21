import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import fc from 'fast-check'
import { decodeJwt } from 'jose'
import { Secret, TOTP } from 'otpauth'
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { storeSecondFactorRoles } from '../../../auth-server/access/change-catalogue.ts'
import { secondFactors } from '../../../auth-server/store/second-factor-tables.ts'
import type { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { needsSecondFactor } from '../../../shared/protocol/principal/record.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { type AuthCore, createAuthCore, goodPassword } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'

const stepMs = 30_000

describeDatabases('second factors', (open) => {
  const clock = createTestClock()
  const { database } = databaseOfSuite(open)
  let core: AuthCore
  let serial = 0

  beforeAll(async () => {
    core = createAuthCore({ database, clock })
    await core.ensureAnonymous()
  })
  beforeEach(() => clock.advance(2 * stepMs))
  afterEach(() => demandOf([]))

  /** As a start with SECOND_FACTOR_ROLES does. */
  const demandOf = (roles: readonly string[]) => storeSecondFactorRoles(database, roles)

  const codeOf = (secret: string, steps = 0) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now() + steps * stepMs })
  const wrongCode = (secret: string) => {
    const right = [-1, 0, 1].map((step) => codeOf(secret, step))
    return ['000000', '111111', '222222', '333333'].find((code) => !right.includes(code)) ?? ''
  }
  const refusal = (promise: Promise<unknown>) =>
    promise.then(
      () => expect.unreachable('it is accepted'),
      (error: ProblemError) => error,
    )
  const codeOfRefusal = async (promise: Promise<unknown>) => (await refusal(promise)).code

  async function newUser(roles: string[] = []) {
    const username = `Factor-${++serial}`
    const { id: userId } = await core.users.create({ username, password: goodPassword, roles })
    return { username, userId, login: null, password: goodPassword }
  }
  /** A user with one-time codes, whose first code is used up. */
  async function withTotp(roles: string[] = []) {
    const user = await newUser(roles)
    const { secret, challenge } = core.secondFactors.beginTotp(user)
    await core.secondFactors.confirmTotp(user, { challenge, code: codeOf(secret) })
    clock.advance(2 * stepMs)
    return { ...user, secret }
  }
  type User = Awaited<ReturnType<typeof newUser>>
  const logIn = ({ username, password }: User, answer = {}) => core.logIn({ username, password, answer })
  const answerTo = (challenge: unknown, code: string) =>
    core.logIn({ username: '', password: undefined, answer: { challenge: String(challenge), code } })

  it('are asked for only where a user has one or the role demands it', async () => {
    const [user, manager] = [await newUser(), await newUser(['manager'])]
    await expect(logIn(user)).resolves.toMatchObject({ token_type: 'Bearer' })
    await expect(logIn(manager)).resolves.toMatchObject({ token_type: 'Bearer' })
    const { username, password } = manager
    await demandOf(['manager'])
    expect(await codeOfRefusal(core.logIn({ username, password }))).toBe('second-factor-enrolment-required')
    expect(await codeOfRefusal(logIn(await withTotp()))).toBe('second-factor-required')
  })

  it.each([
    ['what only the role gives', ['deal.delete'], 'second-factor-enrolment-required'],
    ['what another role gives too', ['deal.read', 'deal.create'], undefined],
  ] as const)('are asked for of users who have %s by a direct right', async (_, rights, code) => {
    await demandOf(['manager', 'admin'])
    const { username, password } = await newUser()
    await core.users.patch(username, { rights: [...rights] })
    const attempt = core.logIn({ username, password })
    if (code === undefined) await expect(attempt).resolves.toMatchObject({ token_type: 'Bearer' })
    else expect(await codeOfRefusal(attempt)).toBe(code)
    expect(needsSecondFactor((await core.record(username)) as never)).toBe(code !== undefined)
  })

  it('of a right password are asked for by methods and a challenge; a wrong password tells nothing', async () => {
    const user = await withTotp()
    const { members } = await refusal(logIn(user))
    expect(members).toMatchObject({ methods: ['totp'], challenge: expect.any(String) })
    expect(members).not.toHaveProperty('publicKey')
    const wrong = { username: user.username, password: 'not the password', answer: { code: codeOf(user.secret) } }
    expect(await codeOfRefusal(core.logIn(wrong))).toBe('invalid-credentials')
  })

  it('let a user in by code, with the password or with the challenge, and mark the login', async () => {
    const user = await withTotp()
    await logIn(user, { code: codeOf(user.secret) })
    clock.advance(stepMs)
    const { challenge } = (await refusal(logIn(user))).members
    await expect(answerTo(challenge, ` ${codeOf(user.secret)} `)).resolves.toMatchObject({ token_type: 'Bearer' })
    const record = await core.record(user.username)
    expect(record && needsSecondFactor(record)).toBe(true)
    expect(record?.revokedIds).toHaveLength(1)
  })

  it('take each code once, and none of an earlier step after it', async () => {
    const user = await withTotp()
    const [earlier, now] = [codeOf(user.secret, -1), codeOf(user.secret)]
    await logIn(user, { code: now })
    for (const code of [now, earlier]) {
      expect(await codeOfRefusal(logIn(user, { code }))).toBe('invalid-second-factor')
    }
  })

  it('take a code once when it comes several times at once', async () => {
    const user = await withTotp()
    const code = codeOf(user.secret)
    const all = await Promise.allSettled(Array.from({ length: 4 }, () => logIn(user, { code })))
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('end a challenge after five minutes, with another password, and with a logout everywhere', async () => {
    const user = await withTotp()
    const challengeNow = async () => (await refusal(logIn(user))).members.challenge
    const old = await challengeNow()
    clock.advance(300_000)
    expect(await codeOfRefusal(answerTo(old, codeOf(user.secret)))).toBe('invalid-second-factor')
    const loggedOut = await challengeNow()
    await core.users.logOutEverywhere(user.username)
    expect(await codeOfRefusal(answerTo(loggedOut, codeOf(user.secret)))).toBe('invalid-second-factor')
    const changed = await challengeNow()
    await core.passwords.reset({ username: user.username, newPassword: 'another good password' })
    expect(await codeOfRefusal(answerTo(changed, codeOf(user.secret)))).toBe('invalid-second-factor')
    expect(await codeOfRefusal(answerTo('1.abcdefgh.AAAA', codeOf(user.secret)))).toBe('invalid-second-factor')
  })

  it('bound the guesses of a code, whatever the mixture of tries and waits', async () => {
    const { username, password, secret } = await withTotp()
    const waits = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 10, maxLength: 10 })
    await fc.assert(
      fc.asyncProperty(waits, async (minutes) => {
        let tried = 0
        let waited = 0
        for (const minute of minutes) {
          const code = await codeOfRefusal(core.logIn({ username, password, answer: { code: wrongCode(secret) } }))
          if (code === 'invalid-second-factor') tried += 1
          else expect(code).toBe('too-many-attempts')
          clock.advance(minute * 60_000)
          waited += minute
        }
        // Five are free; afterwards each costs at least 30 seconds.
        expect(tried).toBeLessThanOrEqual(5 + waited * 2)
      }),
      { numRuns: 3 },
    )
    const { retryAfterSeconds = 0, code } = await refusal(
      core.logIn({ username, password, answer: { code: wrongCode(secret) } }).then(
        () => undefined,
        async () => core.logIn({ username, password, answer: { code: wrongCode(secret) } }),
      ),
    )
    expect(code).toBe('too-many-attempts')
    expect(retryAfterSeconds).toBeGreaterThan(0)
    expect(retryAfterSeconds).toBeLessThanOrEqual(3600)
    clock.advance(3_600_000)
    await core.logIn({ username, password, answer: { code: codeOf(secret) } })
  })

  it('are accepted again after an unlock, however many were wrong', async () => {
    const { username, password, secret } = await withTotp()
    const logIn = (code: string) => core.logIn({ username, password, answer: { code } })
    for (let time = 0; time < 5; time += 1) expect(await codeOfRefusal(logIn(wrongCode(secret)))).toMatch(/^invalid/)
    expect(await codeOfRefusal(logIn(codeOf(secret)))).toBe('too-many-attempts')
    const { id: userId } = await core.users.read(username)
    const credential = { username, generation: 1, loginId: undefined, audience: null, expiresAt: undefined }
    await core.users.unlock(username, { userId, scheme: 'bearer', credential })
    await logIn(codeOf(secret))
  })

  it('let a user in by each of ten recovery codes once, also in a race', async () => {
    const user = await withTotp()
    const codes = await core.secondFactors.renewRecoveryCodes(user)
    expect(new Set(codes).size).toBe(10)
    const [first = '', second = ''] = codes
    const race = await Promise.allSettled([first, first, first].map((code) => logIn(user, { code })))
    expect(race.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await logIn(user, { code: second.toLowerCase().replaceAll('-', ' ') })
    expect((await core.secondFactors.read(user)).recoveryCodes).toBe(8)
    const renewed = await core.secondFactors.renewRecoveryCodes(user)
    expect(await codeOfRefusal(logIn(user, { code: codes[2] }))).toBe('invalid-second-factor')
    await logIn(user, { code: renewed[0] })
  })

  it('are set up at the login of a user whose role demands one, and not twice', async () => {
    await demandOf(['manager'])
    const { username, password } = await newUser(['manager'])
    const asked = await refusal(core.logIn({ username, password }))
    const { challenge, totp } = asked.members as { challenge: string; totp: { secret: string; uri: string } }
    expect(totp.uri).toContain(totp.secret)
    const answer = { challenge, code: wrongCode(totp.secret) }
    const withAnswer = (given: object) => core.logIn({ username: '', password: undefined, answer: given })
    expect(await codeOfRefusal(withAnswer(answer))).toBe('invalid-second-factor')
    const right = { challenge, code: codeOf(totp.secret) }
    await expect(withAnswer(right)).resolves.toMatchObject({ token_type: 'Bearer' })
    clock.advance(stepMs)
    expect(await codeOfRefusal(withAnswer({ challenge, code: codeOf(totp.secret) }))).toBe('invalid-second-factor')
    await core.logIn({ username, password, answer: { code: codeOf(totp.secret) } })
  })

  it('end logins without one when the role demands it from now on, refreshes too', async () => {
    const { username, password } = await newUser(['manager'])
    const { refresh_token: token } = await core.logIn({ username, password })
    expect((await core.record(username))?.revokedIds).toEqual([])
    const before = (await core.record(username))?.version ?? 0
    await demandOf(['manager'])
    const record = await core.record(username)
    expect(record && needsSecondFactor(record)).toBe(true)
    expect(record?.revokedIds).toHaveLength(2)
    expect(record?.version).toBeGreaterThan(before)
    await demandOf(['manager'])
    expect((await core.record(username))?.version).toBe(record?.version)
    expect(await codeOfRefusal(core.refresh(token))).toBe('invalid_grant')
    await demandOf([])
    expect((await core.record(username))?.revokedIds).toEqual([])
  })

  it('end the other logins when the first is set up, and keep the login that sets it up', async () => {
    const user = await newUser()
    const other = await logIn(user)
    const own = await logIn(user)
    const { claims } = (await core.verifyAccessToken(own.access_token)) as { claims: { sid: string; gen: number } }
    const login = { id: claims.sid, generation: claims.gen }
    const { secret, challenge } = core.secondFactors.beginTotp(user)
    await core.secondFactors.confirmTotp({ ...user, login }, { challenge, code: codeOf(secret) })
    expect(await codeOfRefusal(core.refresh(other.refresh_token))).toBe('invalid_grant')
    const { access_token } = await core.refresh(own.refresh_token)
    expect(decodeJwt(access_token).amr).toEqual(['pwd', 'otp', 'mfa'])
  })

  it('store no secret and no recovery code as they are', async () => {
    const user = await withTotp()
    const rows = await database.drizzle.select().from(secondFactors).where(eq(secondFactors.userId, user.userId))
    expect(JSON.stringify(rows)).not.toContain(user.secret)
    const [code = ''] = await core.secondFactors.renewRecoveryCodes(user)
    const stored = await database.query('select code_hash from auth.recovery_codes where user_id = $1', [user.userId])
    expect(JSON.stringify(stored)).not.toContain(code)
    expect(stored).toHaveLength(10)
  })

  it('are gone with recovery codes and demand once the last is removed', async () => {
    const user = await withTotp()
    await core.secondFactors.renewRecoveryCodes(user)
    const [factor] = (await core.secondFactors.read(user)).factors
    expect(await codeOfRefusal(core.secondFactors.remove(await newUser(), factor?.id ?? ''))).toBe('not-found')
    await core.secondFactors.remove(user, factor?.id ?? '')
    expect(await core.secondFactors.read(user)).toMatchObject({ required: false, factors: [], recoveryCodes: 0 })
    await logIn(user)
    expect(await codeOfRefusal(core.secondFactors.renewRecoveryCodes(user))).toBe('second-factor-missing')
  })

  it('are twenty at most for a user', async () => {
    const user = await newUser()
    const passkeys = Array.from({ length: 19 }, (_, at) => ({
      id: randomUUID(),
      userId: user.userId,
      kind: 'passkey' as const,
      name: `Passkey ${at}`,
      credentialId: `${user.username} ${at}`,
      publicKey: 'key',
      signatures: 0,
      transports: [],
      createdAt: new Date(clock.now()),
    }))
    await database.drizzle.insert(secondFactors).values(passkeys)
    const setUp = () => {
      const { secret, challenge } = core.secondFactors.beginTotp(user)
      return core.secondFactors.confirmTotp(user, { challenge, code: codeOf(secret) })
    }
    await setUp()
    expect(await codeOfRefusal(setUp())).toBe('too-many-second-factors')
  })
})
