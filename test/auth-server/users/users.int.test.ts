import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { changePrincipal } from '../../../auth-server/principals/principal-change.ts'
import { users } from '../../../auth-server/store/schema.ts'
import type { Grantor } from '../../../auth-server/users/granting-rights.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { type AuthCore, createAuthCore, goodPassword } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'

describeDatabases('users', (open) => {
  const { database } = databaseOfSuite(open)
  let core: AuthCore
  let serial = 0
  const name = (prefix = 'user') => `${prefix}-${++serial}`

  beforeAll(async () => {
    core = createAuthCore({ database, clock: createTestClock() })
    await core.ensureAnonymous()
  })

  const create = (username: string, grants: { roles?: string[]; rights?: string[] } = {}) =>
    core.users.create({ username, password: goodPassword, ...grants })

  it('is empty but for the reserved user on a new database', async () => {
    expect(await core.users.isEmpty()).toBe(true)
    await core.ensureAnonymous()
    expect(await core.users.read('anonymous')).toMatchObject({ roles: [], rights: [], enabled: true })
  })

  it('keeps a user as created and finds it in any case', async () => {
    const user = await create('Alice.B', { roles: ['viewer', 'viewer'], rights: ['deal.create'] })
    expect(await core.users.read('aLICE.b')).toEqual(user)
    expect(user).toMatchObject({ username: 'Alice.B', roles: ['viewer'], rights: ['deal.create'], enabled: true })
    expect(await core.users.isEmpty()).toBe(false)
    expect(await core.record('ALICE.B')).toMatchObject({
      username: 'Alice.B',
      userId: user.id,
      enabled: true,
      rights: ['deal.read', 'deal.history.read', 'deal.create'],
      generation: 1,
      keptLogin: null,
      revokedIds: [],
    })
  })

  it('refuses a second user of the same name in another case', async () => {
    const username = name()
    await create(username)
    const attempts = await Promise.allSettled([create(username.toUpperCase()), create(username)])
    for (const attempt of attempts) expect(attempt).toMatchObject({ reason: { code: 'user-exists' } })
    expect((await core.users.read(username)).username).toBe(username)
  })

  it('creates one user of a name that several ask for at once', async () => {
    const username = name()
    const attempts = await Promise.allSettled(Array.from({ length: 6 }, () => create(username)))
    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it.each([
    ['', '/username', 'username-form'],
    ['a b', '/username', 'username-form'],
    ['é', '/username', 'username-form'],
    ['a\0', '/username', 'username-form'],
    ['x'.repeat(65), '/username', 'username-form'],
    ['.', '/username', 'username-form'],
    ['..', '/username', 'username-form'],
  ])('refuses the name %j', async (username, pointer, code) => {
    await expect(create(username)).rejects.toMatchObject({
      code: 'invalid-value',
      members: { errors: [{ pointer, code }] },
    })
  })

  it('names every wrong value at once', async () => {
    const request = { username: 'a/b', password: 'short', roles: ['viewer', 'king'], rights: ['deal.steal'] }
    await expect(core.users.create(request)).rejects.toMatchObject({
      code: 'invalid-value',
      members: {
        errors: [
          { pointer: '/username', code: 'username-form' },
          { pointer: '/password', code: 'password-too-short' },
          { pointer: '/roles/1', code: 'unknown-role' },
          { pointer: '/rights/0', code: 'unknown-right' },
        ],
      },
    })
  })

  it('replaces the members that are given, and numbers only what changed', async () => {
    const username = name()
    await create(username, { roles: ['viewer'], rights: ['deal.hold'] })
    const before = await core.record(username)
    expect(await core.users.patch(username, { roles: ['viewer'] })).toMatchObject({ roles: ['viewer'] })
    expect(await core.record(username)).toEqual(before)
    await core.users.patch(username, { roles: [] })
    const after = await core.record(username)
    expect(after).toMatchObject({ rights: ['deal.hold'], generation: before?.generation })
    expect(after?.version).toBeGreaterThan(before?.version ?? 0)
  })

  it('raises the generation when a user is disabled, and not when it is enabled again', async () => {
    const username = name()
    await create(username)
    await core.users.patch(username, { enabled: false })
    expect(await core.record(username)).toMatchObject({ enabled: false, generation: 2 })
    await core.users.patch(username, { enabled: true })
    expect(await core.record(username)).toMatchObject({ enabled: true, generation: 2 })
    await core.users.logOutEverywhere(username)
    expect(await core.record(username)).toMatchObject({ generation: 3 })
  })

  it('goes on counting when a deleted name is created again', async () => {
    const username = name()
    const first = await create(username, { roles: ['agent'] })
    await core.users.delete(username)
    await expect(core.users.read(username)).rejects.toMatchObject({ code: 'not-found' })
    await expect(core.users.delete(username)).rejects.toMatchObject({ code: 'not-found' })
    const gone = await core.record(username)
    expect(gone).toMatchObject({ enabled: false, rights: [], userId: first.id, generation: 2 })
    const second = await create(username.toUpperCase())
    const again = await core.record(username)
    expect(again).toMatchObject({ enabled: true, userId: second.id, username: username.toUpperCase() })
    expect(second.id).not.toBe(first.id)
    expect(again?.generation).toBeGreaterThan(1)
    expect(again?.version).toBeGreaterThan(gone?.version ?? 0)
  })

  it('says not-found for whoever never was', async () => {
    for (const username of ['nobody', '', 'a\0', 'x'.repeat(100_000)]) {
      for (const attempt of [
        () => core.users.read(username),
        () => core.users.patch(username, { enabled: true }),
        () => core.users.delete(username),
        () => core.users.logOutEverywhere(username),
        () => core.passwords.reset({ username, newPassword: goodPassword }),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'not-found' })
      }
      expect(await core.record(username)).toBeUndefined()
    }
  })

  it('gives the reserved user reading rights only, no password and no end', async () => {
    const { users, passwords } = core
    await users.patch('anonymous', { roles: ['viewer'], rights: ['task.read-any'] })
    expect((await core.record('Anonymous'))?.rights).toEqual(['deal.read', 'deal.history.read', 'task.read-any'])
    await expect(users.patch('ANONYMOUS', { roles: ['viewer', 'agent'] })).rejects.toMatchObject({
      members: { errors: [{ pointer: '/roles/1', code: 'reading-rights-only' }] },
    })
    await expect(users.patch('anonymous', { rights: ['deal.hold'] })).rejects.toMatchObject({ code: 'invalid-value' })
    await expect(users.delete('Anonymous')).rejects.toMatchObject({ code: 'reserved-user' })
    await expect(create('Anonymous')).rejects.toMatchObject({ code: 'user-exists' })
    const reset = passwords.reset({ username: 'anonymous', newPassword: goodPassword })
    await expect(reset).rejects.toMatchObject({ code: 'reserved-user' })
    await users.logOutEverywhere('anonymous')
    expect((await core.record('anonymous'))?.generation).toBe(2)
    await users.patch('anonymous', { roles: [], rights: [] })
  })

  it('keeps one enabled admin, whatever happens at once', async () => {
    const listed = await core.users.list({ limit: 1000, after: undefined })
    const admins = listed.items.filter((user) => user.roles.includes('admin')).map((user) => user.username)
    for (let more = 0; more < 3; more += 1) {
      admins.push((await create(name('admin'), { roles: ['admin'] })).username)
    }
    const ways = [
      (username: string) => core.users.delete(username),
      (username: string) => core.users.patch(username, { enabled: false }),
      (username: string) => core.users.patch(username, { roles: ['viewer'] }),
    ]
    const attempts = await Promise.allSettled(admins.map((username, at) => ways[at % ways.length]?.(username)))
    const refused = attempts.filter(({ status }) => status === 'rejected')
    expect(refused).toHaveLength(1)
    expect(refused[0]).toMatchObject({ reason: { code: 'last-admin' } })
  })

  describe('granting rights', () => {
    const giverOf = (user: { id: string; username: string }, rights?: string[]): Grantor => ({
      userId: user.id,
      scheme: 'bearer',
      credential: {
        username: user.username,
        generation: 1,
        loginId: undefined,
        audience: null,
        expiresAt: undefined,
        rights,
      },
    })
    const missing = { code: 'missing-right', members: { missingRights: ['key.read'] } }

    it('is refused when the grantor loses the right while the change is under way', async () => {
      const [grantor, target] = [await create(name(), { rights: ['key.read'] }), await create(name())]
      let [reached, release] = [() => {}, () => {}]
      const isTaken = new Promise<void>((resolve) => {
        reached = resolve
      })
      const mayCommit = new Promise<void>((resolve) => {
        release = resolve
      })
      const taking = changePrincipal(database, grantor.username, async (transaction, { userId }) => {
        await transaction.update(users).set({ rights: [] }).where(eq(users.id, userId))
        const verify = () => {
          reached()
          return mayCommit
        }
        return { result: undefined, change: { verify } }
      })
      await isTaken
      const giving = core.users.patch(target.username, { rights: ['key.read'] }, giverOf(grantor))
      release()
      await Promise.all([taking, expect(giving).rejects.toMatchObject(missing)])
      expect((await core.users.read(target.username)).rights).toEqual([])
    })

    it('counts nothing of a grantor who is disabled or gone', async () => {
      const grantor = await create(name(), { roles: ['admin'] })
      const target = await create(name())
      const give = () => core.users.patch(target.username, { rights: ['key.read'] }, giverOf(grantor))
      await core.users.patch(grantor.username, { enabled: false })
      await expect(give()).rejects.toMatchObject(missing)
      await core.users.delete(grantor.username)
      await expect(give()).rejects.toMatchObject(missing)
    })

    it('counts of the role admin no more than a narrowed credential lets through', async () => {
      const grantor = await create(name(), { roles: ['admin'] })
      const target = await create(name())
      const patch = (rights: string[], carried?: string[]) =>
        core.users.patch(target.username, { rights }, giverOf(grantor, carried))
      await expect(patch(['key.read'], ['user.manage'])).rejects.toMatchObject(missing)
      expect(await patch(['user.manage'], ['user.manage'])).toMatchObject({ rights: ['user.manage'] })
      expect(await patch(['key.read'])).toMatchObject({ rights: ['key.read'] })
    })
  })
})
