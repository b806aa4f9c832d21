import { eq } from 'drizzle-orm'
import { decodeJwt } from 'jose'
import { beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { createRefresh } from '../../../auth-server/logins/refresh.ts'
import { loginFamilies } from '../../../auth-server/store/schema.ts'
import { parseStoredPrincipal, principalKey } from '../../../shared/protocol/principal/record.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { type AuthCore, createAuthCore, goodPassword } from '../support/auth-core.ts'
import { passTime } from '../support/pass-time.ts'
import { entriesDuring } from '../support/stored-entries.ts'
import { createTestClock } from '../support/test-clock.ts'

describeDatabases('refresh', (open) => {
  const clock = createTestClock()
  const { database } = databaseOfSuite(open)
  let core: AuthCore
  let username = ''
  let serial = 0

  beforeAll(() => {
    core = createAuthCore({ database, clock })
  })
  beforeEach(async () => {
    username = `refresh-${++serial}`
    await core.users.create({ username, password: goodPassword, roles: ['viewer'] })
  })

  const logIn = () => core.logIn({ username, password: goodPassword })
  const pass = (milliseconds: number) => passTime({ clock, database }, milliseconds)
  const refused = { code: 'invalid_grant' }
  const sid = (token: string) => String(decodeJwt(token).sid)
  const endedReason = async (token: string) => {
    const { drizzle } = database
    const [row] = await drizzle
      .select()
      .from(loginFamilies)
      .where(eq(loginFamilies.id, sid(token)))
    if (row?.endedAt) expect(row.successorSealed).toBeNull()
    return row?.endedReason
  }

  it('gives a new pair of the same login', async () => {
    const first = await logIn()
    const second = await core.refresh(first.refresh_token)
    expect(second).toMatchObject({ token_type: 'Bearer', expires_in: 1800, refresh_expires_in: 86_400 })
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(second.access_token).not.toBe(first.access_token)
    expect(sid(second.access_token)).toBe(sid(first.access_token))
    expect(decodeJwt(second.refresh_token).ctr).toBe(1)
  })

  it('gives the same refresh token again within REFRESH_RETRY_WINDOW, with a fresh access token', async () => {
    const first = await logIn()
    const second = await core.refresh(first.refresh_token)
    await pass(50_000)
    const again = await core.refresh(first.refresh_token)
    expect(again.refresh_token).toBe(second.refresh_token)
    expect(again.refresh_expires_in).toBe(86_400 - 50)
    expect(again.access_token).not.toBe(second.access_token)
    await expect(core.refresh(second.refresh_token)).resolves.toBeDefined()
  })

  it('takes the token just before for stolen once the window is over: the login ends, and the answer says why', async () => {
    const first = await logIn()
    const stolen = await core.refresh(first.refresh_token)
    await pass(60_001)
    const entries = await entriesDuring({ database, clock }, () =>
      expect(core.refresh(first.refresh_token)).rejects.toMatchObject({
        ...refused,
        message: expect.stringMatching(/within 60 seconds .* over.*login has ended/),
      }),
    )
    expect(entries).toEqual([['login.ended', sid(stolen.access_token), 'refresh-token-reused']])
    expect(await endedReason(stolen.access_token)).toBe('reuse')
    expect((await core.record(username))?.revokedIds).toEqual([sid(stolen.access_token)])
    await expect(core.refresh(stolen.refresh_token)).rejects.toMatchObject(refused)
  })

  it('goes by the moment at which a repetition arrives, however long the database takes', async () => {
    const first = await logIn()
    const second = await core.refresh(first.refresh_token)
    await pass(50_000)
    const find: typeof core.refreshTokenFamilies.find = async (id) => {
      await pass(20_000)
      return core.refreshTokenFamilies.find(id)
    }
    const slow = createRefresh({ ...core, refreshTokenFamilies: { ...core.refreshTokenFamilies, find } })
    expect((await slow(first.refresh_token)).refresh_token).toBe(second.refresh_token)
  })

  it('has a window of its own length when REFRESH_RETRY_WINDOW says so', async () => {
    const short = createAuthCore({
      database,
      clock,
      cache: core.cache,
      publisher: core.publisher,
      lifetimes: { refreshRetryWindowSeconds: 5 },
    })
    const [one, other] = [await logIn(), await logIn()]
    const second = await short.refresh(one.refresh_token)
    await short.refresh(other.refresh_token)
    await pass(1_000)
    expect((await short.refresh(one.refresh_token)).refresh_token).toBe(second.refresh_token)
    await pass(4_001)
    await expect(short.refresh(other.refresh_token)).rejects.toThrow(/within 5 seconds /)
  })

  it.each([
    ['one or two before', 2, 0, undefined],
    ['two before, after the window,', 2, 60_001, 'reuse'],
    ['three before', 3, 0, 'reuse'],
  ] as const)('takes a token %s for what it is', async (_, back, waited, reason) => {
    const tokens = [(await logIn()).refresh_token]
    for (let round = 0; round < back; round += 1) tokens.push((await core.refresh(tokens.at(-1) ?? '')).refresh_token)
    await pass(waited)
    await expect(core.refresh(tokens[0] ?? '')).rejects.toMatchObject(refused)
    expect(await endedReason(tokens.at(-1) ?? '')).toBe(reason ?? null)
    const last = core.refresh(tokens.at(-1) ?? '')
    await (reason === undefined ? expect(last).resolves.toBeDefined() : expect(last).rejects.toMatchObject(refused))
  })

  it('judges the token two before by its own rotation, not by the one after', async () => {
    const first = await logIn()
    const second = await core.refresh(first.refresh_token)
    await pass(59_000)
    const third = await core.refresh(second.refresh_token)
    await pass(2_000)
    await expect(core.refresh(first.refresh_token)).rejects.toMatchObject(refused)
    expect(await endedReason(third.access_token)).toBe('reuse')
  })

  it.each([-60_000, 60_000])('repeats at a server whose clock is %i ms off', async (off) => {
    const other = createAuthCore({
      database,
      cache: core.cache,
      publisher: core.publisher,
      clock: createTestClock(clock.now() + off),
    })
    for (const [one, repeating] of [
      [core, other],
      [other, core],
    ] as const) {
      const first = await logIn()
      const second = await one.refresh(first.refresh_token)
      await pass(40_000)
      expect((await repeating.refresh(first.refresh_token)).refresh_token).toBe(second.refresh_token)
      await pass(20_001)
      await expect(repeating.refresh(first.refresh_token)).rejects.toMatchObject(refused)
      expect(await endedReason(second.access_token)).toBe('reuse')
    }
  })

  it('ends the login when a token long before the last comes back, and its access tokens with it', async () => {
    const [other, first] = [await logIn(), await logIn()]
    const second = await core.refresh(first.refresh_token)
    const third = await core.refresh((await core.refresh(second.refresh_token)).refresh_token)
    await expect(core.refresh(first.refresh_token)).rejects.toMatchObject(refused)
    await expect(core.refresh(third.refresh_token)).rejects.toMatchObject(refused)
    expect((await core.record(username))?.revokedIds).toEqual([sid(third.access_token)])
    expect(await endedReason(third.access_token)).toBe('reuse')
    await expect(core.refresh(other.refresh_token)).resolves.toBeDefined()
  })

  it('remembers an ended login as long as the latest of its access tokens lives on a clock that is 60 s behind', async () => {
    const first = await logIn()
    const id = sid(first.access_token)
    await core.refresh(first.refresh_token)
    clock.advance(20_000)
    await core.refresh(first.refresh_token)
    await core.logOut(first.refresh_token)
    clock.advance(1_799_000 + 60_000)
    expect((await core.record(username))?.revokedIds).toEqual([id])
    clock.advance(1000)
    expect((await core.record(username))?.revokedIds).toEqual([])
  })

  it('leaves a login either alive or ended when refresh and logout race, never half', async () => {
    for (let round = 0; round < 10; round += 1) {
      const first = await logIn()
      const [refreshed] = await Promise.allSettled([core.refresh(first.refresh_token), core.logOut(first.access_token)])
      if (refreshed.status === 'rejected') expect(refreshed.reason).toMatchObject(refused)
      for (const token of [first.refresh_token, refreshed.status === 'fulfilled' && refreshed.value.refresh_token]) {
        if (token) await expect(core.refresh(token)).rejects.toMatchObject(refused)
      }
      expect((await core.record(username))?.revokedIds).toContain(sid(first.access_token))
    }
  })

  it('publishes nothing when the cache has the record that it reads', async () => {
    const { refresh_token } = await logIn()
    const first = await core.refresh(refresh_token)
    const reloaded = vi.spyOn(core.publisher, 'reloaded').mockResolvedValue()
    const second = await core.refresh(first.refresh_token)
    await core.refresh(first.refresh_token)
    expect(reloaded).not.toHaveBeenCalled()
    await database.query("update auth.users set rights = '{deal.hold}' where username_folded = $1", [username])
    await core.refresh(second.refresh_token)
    expect(reloaded).toHaveBeenCalledOnce()
    reloaded.mockRestore()
  })

  it('reads the rights again and replaces the record before it answers', async () => {
    const { refresh_token } = await logIn()
    await core.refresh(refresh_token)
    await database.query("update auth.users set rights = '{deal.hold}' where username_folded = $1", [username])
    await core.refresh(refresh_token)
    const entry = await core.cache.getVersioned(principalKey(await core.publisher.instanceId(), username))
    expect(parseStoredPrincipal(entry?.value ?? '')?.directRights).toEqual(['deal.hold'])
  })

  it('logs out with either token, expired or used up, and as often as one likes', async () => {
    const first = await logIn()
    const second = await core.refresh(first.refresh_token)
    await core.logOut(first.refresh_token)
    await core.logOut(first.refresh_token)
    await core.logOut(second.access_token)
    await expect(core.refresh(second.refresh_token)).rejects.toMatchObject(refused)

    const other = await logIn()
    clock.advance(1_800_000)
    await core.logOut(other.access_token)
    await expect(core.refresh(other.refresh_token)).rejects.toMatchObject(refused)
    await expect(core.logOut('nonsense')).rejects.toMatchObject({ code: 'invalid-token' })
  })

  it('keeps the login that changed its own password, and no other', async () => {
    const [own, other] = [await logIn(), await logIn()]
    const login = { id: sid(own.access_token), generation: Number(decodeJwt(own.access_token).gen) }
    const change = { username, oldPassword: goodPassword, newPassword: 'a quite new one', login }
    await expect(core.passwords.change({ ...change, oldPassword: 'not that' })).rejects.toMatchObject({
      code: 'wrong-password',
    })
    await expect(core.passwords.change({ ...change, newPassword: 'password123' })).rejects.toMatchObject({
      code: 'invalid-value',
      members: { errors: [{ pointer: '/newPassword', code: 'password-common' }] },
    })
    await core.passwords.change(change)
    expect(await core.record(username)).toMatchObject({ generation: 2, keptLogin: login })
    await expect(core.refresh(other.refresh_token)).rejects.toMatchObject(refused)
    const kept = await core.refresh(own.refresh_token)
    expect(decodeJwt(kept.access_token).gen).toBe(1)
    await expect(logIn()).rejects.toMatchObject({ code: 'invalid-credentials' })

    const again = { ...change, oldPassword: change.newPassword, newPassword: goodPassword }
    await core.passwords.change(again)
    expect(await core.record(username)).toMatchObject({ generation: 3, keptLogin: login })
    await core.logOut(kept.access_token)
    expect((await core.record(username))?.revokedIds).toEqual([login.id])
    await expect(core.refresh(kept.refresh_token)).rejects.toMatchObject(refused)
  })

  it('lets one of several concurrent own changes of password win', async () => {
    const change = (newPassword: string) =>
      core.passwords.change({ username, oldPassword: goodPassword, newPassword, login: null })
    const outcomes = await Promise.allSettled(['first of three', 'second of three', 'third of three'].map(change))
    const lost = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(lost).toHaveLength(2)
    for (const outcome of lost) expect(outcome.reason).toMatchObject({ code: 'wrong-password' })
  })
})
