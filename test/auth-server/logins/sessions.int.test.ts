import { beforeAll, describe, expect, it } from 'vitest'
import { createSessionExpiry } from '../../../auth-server/logins/session-store.ts'
import { createStoredSessions } from '../../../auth-server/logins/use-session.ts'
import { createMemoryCache } from '../../../shared/platform/cache/memory-cache.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { createHousekeeping } from '../../../shared/platform/database/housekeeping.ts'
import { createLog } from '../../../shared/platform/log/log.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { sessionCacheKey, sessionKeyHash } from '../../../shared/protocol/authentication/session/session-times.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { createAuthCore, goodPassword } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const maxLoginsPerUser = 10

describeDatabases('sessions in the database', (open) => {
  const clock = createTestClock()
  const { database } = databaseOfSuite(open)
  let world: ReturnType<typeof createWorld>
  let count = 0

  function createWorld() {
    const cache = createMemoryCache(systemClock)
    return createAuthCore({ database, clock, cache, maxLoginsPerUser })
  }

  beforeAll(() => {
    world = createWorld()
  })

  const createUser = () =>
    world.users.create({ username: `user-${++count}`, password: goodPassword, roles: ['viewer'] })
  const start = async (username: string, replacedKeys: string[] = []) => {
    const request = { username, password: goodPassword, clientAddress: '127.0.0.1', audience: null, replacedKeys }
    const started = await world.startSession(request)
    return { ...started, hash: sessionKeyHash(started.key) }
  }
  const use = (hash: string) => world.sessions.use(hash)
  const cached = async (hash: string) => {
    const entry = await world.cache.getVersioned(sessionCacheKey(await world.publisher.instanceId(), hash))
    return entry && JSON.parse(entry.value)
  }

  it('begin under a key of 256 bits that is nowhere stored, each under its own', async () => {
    const { username } = await createUser()
    const [one, other] = [await start(username), await start(username)]
    expect(Buffer.from(one.key, 'base64url')).toHaveLength(32)
    expect(other.key).not.toBe(one.key)
    expect(await world.sessions.look(one.key)).toBeUndefined()
    expect((await world.sessions.look(one.hash))?.id).toBe(one.id)
  })

  it('end the one they replace, of whichever user', async () => {
    const [carol, bob] = [await createUser(), await createUser()]
    const former = await start(carol.username)
    const next = await start(bob.username, [former.key, 'nonsense', 'Z'.repeat(43)])
    expect(await use(former.hash)).toBeUndefined()
    expect((await world.record(carol.username))?.revokedIds).toEqual([former.id])
    expect((await world.record(bob.username))?.revokedIds).toEqual([])
    expect(await use(next.hash)).toBeDefined()
  })

  it('are in the cache from their beginning, and at each step of their last-action time', async () => {
    const { username } = await createUser()
    const { hash, id } = await start(username)
    const first = await cached(hash)
    expect(first).toEqual(await world.sessions.look(hash))
    clock.advance(59 * second)
    await use(hash)
    expect(await cached(hash)).toEqual(first)
    clock.advance(second)
    await use(hash)
    expect(await cached(hash)).toEqual({ ...first, lastUsedAt: clock.now() })
    expect((await world.sessions.look(hash))?.id).toBe(id)
  })

  it('are not used by a look at them, by this server or by a deal server that asks', async () => {
    const { username } = await createUser()
    const { hash } = await start(username)
    const began = await cached(hash)
    clock.advance(10 * minute)
    expect(await world.sessions.look(hash)).toEqual(began)
    expect(await world.sessions.share(hash, false)).toEqual(began)
    expect((await world.sessionStore.find(hash))?.session.lastUsedAt).toBe(began.lastUsedAt)
    expect(await cached(hash)).toEqual(began)
    expect(await world.sessions.share(hash, true)).toEqual({ ...began, lastUsedAt: clock.now() })
  })

  it('move forward only, whoever is late', async () => {
    const { username } = await createUser()
    const { hash } = await start(username)
    const now = clock.now() + 10 * minute
    expect(await world.sessionStore.move(hash, { now, idleSince: 0 })).toBe(true)
    expect(await world.sessionStore.move(hash, { now: now - minute, idleSince: 0 })).toBe(true)
    expect((await world.sessionStore.find(hash))?.session.lastUsedAt).toBe(now)
    expect(await world.sessionStore.move(hash, { now: now + hour, idleSince: now })).toBe(false)
    expect((await world.sessionStore.find(hash))?.session.lastUsedAt).toBe(now)
  })

  it('are not displaced while they are in use: their last use moves in steps, in which others begin', async () => {
    const { username } = await createUser()
    const { hash: unused } = await start(username)
    clock.advance(minute)
    const { hash } = await start(username)
    const logIn = () => world.logIn({ username, password: goodPassword })
    const { refresh_token: token } = await logIn()
    clock.advance(second)
    const { refresh_token: refreshed } = await world.refresh(token)
    // As long as a minute, each later than the recorded use of the session, by token and by cookie: twice as many as a
    // user may have.
    for (let at = 1; at <= maxLoginsPerUser; at += 1) {
      clock.advance(3 * second)
      expect((await use(hash))?.username).toBe(username)
      await logIn()
      clock.advance(3 * second - 100)
      await start(username)
    }
    expect(await use(unused)).toBeUndefined()
    expect(await use(hash)).toBeDefined()
    await expect(world.refresh(refreshed)).resolves.toBeDefined()
    // Out of use, it is displaced as any other.
    clock.advance(10 * minute)
    for (let at = 0; at < maxLoginsPerUser; at += 1) await logIn()
    expect(await use(hash)).toBeUndefined()
  })

  it.each(['database-writes', 'database'])(
    'stay good while their use cannot be stored, without %s',
    async (dependency) => {
      const { username } = await createUser()
      const { hash } = await start(username)
      const began = await world.sessions.look(hash)
      const sessionStore = { ...world.sessionStore, move: () => Promise.reject(new Unavailable(dependency)) }
      const sessions = createStoredSessions(world, { ...world.settings, sessionStore })
      clock.advance(2 * minute)
      // Without the database nothing is known of the session at all.
      if (dependency === 'database') await expect(sessions.use(hash)).rejects.toBeInstanceOf(Unavailable)
      else expect(await sessions.use(hash)).toEqual(began)
      clock.advance(28 * minute)
      expect(await sessions.use(hash)).toBeUndefined()
    },
  )

  it('that were idle for too long are not brought back by an action', async () => {
    const { username } = await createUser()
    const { hash } = await start(username)
    clock.advance(30 * minute)
    expect(await use(hash)).toBeUndefined()
    expect(await use(hash)).toBeUndefined()
  })

  it('end once, however many ends and actions race', async () => {
    const { username } = await createUser()
    for (let round = 0; round < 5; round += 1) {
      const { hash, id } = await start(username)
      const before = (await world.record(username))?.version ?? 0
      clock.advance(minute)
      const outcomes = await Promise.all([
        world.revokeLogin({ id, username, reason: 'logout' }),
        use(hash),
        world.revokeLogin({ id, username, reason: 'administrator' }),
        use(hash),
        world.revokeLogin({ id, username, reason: 'replaced' }),
      ])
      expect(outcomes.filter((outcome) => outcome === 'revoked').length).toBeLessThanOrEqual(1)
      const record = await world.record(username)
      expect(record?.version).toBe(before + 1)
      expect(record?.revokedIds).toContain(id)
      expect(await use(hash)).toBeUndefined()
      expect(((await cached(hash)) ?? { version: 0 }).version).toBeLessThan(record?.version ?? 0)
    }
  })

  it('begin for nobody whose password was changed or who was disabled meanwhile', async () => {
    const { id: userId } = await createUser()
    const proof = { passwordHash: '$argon2id$another', factor: null, audience: null }
    const session = { id: world.ids.uuid(), keyHash: 'h', userId, ...proof }
    const times = { createdAt: clock.now(), expiresAt: clock.now() + hour }
    const about = { clientAddress: '127.0.0.1', userAgent: undefined }
    expect(await world.sessionStore.start({ ...session, ...times, ...about })).toBeUndefined()
    const ghost = { ...session, userId: world.ids.uuid() }
    expect(await world.sessionStore.start({ ...ghost, ...times, ...about })).toBeUndefined()
  })

  it('are not for others to end', async () => {
    const [carol, bob] = [await createUser(), await createUser()]
    const { id, hash } = await start(carol.username)
    expect(await world.revokeLogin({ id, username: bob.username, reason: 'logout' })).toBeUndefined()
    expect(await world.revokeLogin({ id: 'nonsense', username: carol.username, reason: 'logout' })).toBeUndefined()
    expect(await use(hash)).toBeDefined()
    expect(await world.loginLists.find(bob.id, id)).toBeUndefined()
    expect((await world.loginLists.find(carol.id, id))?.kind).toBe('session')
  })

  describe('past their longest life', () => {
    it('are forgotten, ended or not, when every clock agrees that it is over', async () => {
      const { username } = await createUser()
      const [alive, ended] = [await start(username), await start(username)]
      await world.revokeLogin({ id: ended.id, username, reason: 'logout' })
      const log = createLog({ level: 'silent', format: 'json' })
      const ports = { database, clock, log, name: 'auth', jobs: [createSessionExpiry(clock)] }
      const keepHouse = async () => expect(await createHousekeeping(ports, { batchSize: 2 }).runOnce()).toBe(true)
      clock.advance(12 * hour + 59 * second)
      await keepHouse()
      expect((await world.record(username))?.revokedIds).toEqual([ended.id])
      expect(await world.sessionStore.ownerOf(alive.hash)).toEqual({ id: alive.id, username })
      clock.advance(second)
      await keepHouse()
      expect((await world.record(username))?.revokedIds).toEqual([])
      for (const { hash } of [alive, ended]) expect(await world.sessionStore.ownerOf(hash)).toBeUndefined()
    })
  })
})
