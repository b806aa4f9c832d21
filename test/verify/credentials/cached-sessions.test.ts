import { describe, expect, it } from 'vitest'
import { createMemoryCache } from '../../../shared/platform/cache/memory-cache.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { Principals } from '../../../shared/protocol/authentication/authenticate.ts'
import { type KnownSession, sessionCacheKey } from '../../../shared/protocol/authentication/session/session-times.ts'
import type { SessionQuestion } from '../../../shared/protocol/internal-api/session.ts'
import { createCachedSessions } from '../../../verify/src/credentials/cached-sessions.ts'
import { PrincipalFeed } from '../../../verify/src/principals/principal-feed.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const idleTtlSeconds = 100
const hash = 'hash'
const key = sessionCacheKey('instance', hash)

/** A deal server's surroundings, all of which can fail. */
function createWorld() {
  const session: KnownSession = {
    id: 'id',
    username: 'carol',
    userId: 'user',
    version: 5,
    generation: 1,
    audience: null,
    lastUsedAt: 0,
    expiresAt: 1_000_000,
  }
  const world = {
    now: 0,
    version: 5,
    stored: session as KnownSession | undefined,
    cached: undefined as string | undefined,
    authIsAway: false,
    cacheIsAway: false,
    /** What happens before the auth server answers. */
    beforeAnswer: () => {},
    otherInstance: [] as (() => void)[],
    asked: [] as SessionQuestion[],
    set: (more: Partial<KnownSession>) => {
      world.stored = { ...session, ...more }
    },
  }
  const clock = { now: () => world.now, monotonic: () => world.now }
  const systems = fakeSystems({
    clock,
    cache: Object.assign(createMemoryCache(clock), {
      getVersioned: async (asked: string) => {
        if (world.cacheIsAway) throw new Unavailable('cache')
        return asked === key && world.cached !== undefined ? { version: 1, value: world.cached } : undefined
      },
    }),
    authClient: {
      ask: async ({ target, body }) => {
        expect(target).toBe('/sessions')
        world.beforeAnswer()
        if (world.authIsAway) throw new Unavailable('auth-server')
        const question = body as SessionQuestion
        world.asked.push(question)
        if (question.isAction && world.stored) world.set({ ...world.stored, lastUsedAt: world.now })
        return { status: 200, body: { session: world.stored ?? null }, headers: new Headers() }
      },
    },
  })
  const principals: Principals = {
    get: () => ({ userId: 'user', version: world.version }) as never,
    onOtherInstance: (listener) => void world.otherInstance.push(listener),
  }
  const feed = new PrincipalFeed(systems)
  feed.observeInstance('instance', undefined)
  const sessions = createCachedSessions({ ...systems, principals, feed }, idleTtlSeconds)
  return Object.assign(world, { use: () => sessions.use(hash), look: () => sessions.look(hash) })
}

describe('cached sessions of a deal server', () => {
  it('are loaded once, and then used from memory', async () => {
    const world = createWorld()
    for (let count = 0; count < 5; count += 1) expect(await world.use()).toEqual(world.stored)
    expect(world.asked).toEqual([{ keyHash: hash, isAction: false }])
  })

  it('come from the cache when it has them, without a request to the auth server', async () => {
    const world = createWorld()
    world.cached = JSON.stringify(world.stored)
    world.authIsAway = true
    expect(await world.use()).toEqual(world.stored)
  })

  it.each(['', '{}', 'null', '{"id":1}'])('do not come from a cache that holds %j', async (cached) => {
    const world = createWorld()
    world.cached = cached
    expect(await world.use()).toEqual(world.stored)
    expect(world.asked).toHaveLength(1)
  })

  it('are not used, from memory or from the cache, after their user changed', async () => {
    const world = createWorld()
    world.cached = JSON.stringify(world.stored)
    expect(await world.use()).toEqual(world.stored)
    world.version = 6
    world.stored = undefined
    expect(await world.use()).toBeUndefined()
    expect(world.asked).toEqual([{ keyHash: hash, isAction: false }])
  })

  it('are neither accepted nor refused when their existence cannot be checked', async () => {
    const world = createWorld()
    await world.use()
    world.version = 6
    world.authIsAway = true
    await expect(world.use()).rejects.toThrow(Unavailable)
  })

  it('move at the auth server, in coarse steps, once for concurrent callers', async () => {
    const world = createWorld()
    await world.use()
    world.now = 4_999
    await world.use()
    expect(world.asked.filter(({ isAction }) => isAction)).toHaveLength(0)
    world.now = 5_000
    const moved = await Promise.all([world.use(), world.use(), world.use()])
    expect(moved.map((session) => session?.lastUsedAt)).toEqual([5_000, 5_000, 5_000])
    expect(world.asked.filter(({ isAction }) => isAction)).toHaveLength(1)
  })

  it('end when the auth server refuses a step', async () => {
    const world = createWorld()
    await world.use()
    world.now = 6_000
    world.stored = undefined
    expect(await world.use()).toBeUndefined()
  })

  it('stay valid without the auth server while they are used, but never beyond their lifetime', async () => {
    const world = createWorld()
    await world.use()
    world.authIsAway = true
    for (world.now = 90_000; world.now < 1_000_000; world.now += 90_000) expect(await world.use()).toBeDefined()
    world.now = 1_000_000
    expect(await world.use()).toBeUndefined()
  })

  it('are loaded again before they count as idle: another server may have moved them', async () => {
    const world = createWorld()
    await world.use()
    world.now = 100_000
    world.set({ lastUsedAt: 60_000 })
    expect((await world.use())?.lastUsedAt).toBe(100_000)
    world.now = 250_000
    world.cached = JSON.stringify({ ...world.stored, lastUsedAt: 240_000 })
    world.authIsAway = true
    expect((await world.use())?.lastUsedAt).toBe(250_000)
  })

  it('expire when no server moved them; without a check the request is 503', async () => {
    const world = createWorld()
    await world.use()
    world.now = 100_000
    world.authIsAway = true
    await expect(world.use()).rejects.toThrow(Unavailable)
    world.authIsAway = false
    world.stored = undefined
    expect(await world.use()).toBeUndefined()
  })

  it.each([true, false])(
    'are not kept when another instance is followed during a step (auth server away: %s)',
    async (isAway) => {
      const world = createWorld()
      await world.use()
      world.now = 50_000
      world.authIsAway = isAway
      world.beforeAnswer = () => {
        for (const listener of world.otherInstance) listener()
        // The other instance does not have the session.
        world.beforeAnswer = () => {
          world.stored = undefined
        }
      }
      await world.use()
      world.authIsAway = false
      expect(await world.use()).toBeUndefined()
    },
  )

  it('are not moved by a read', async () => {
    const world = createWorld()
    await world.use()
    world.now = 99_999
    expect((await world.look())?.lastUsedAt).toBe(0)
    world.now = 100_000
    world.stored = undefined
    expect(await world.look()).toBeUndefined()
    expect(world.asked.every(({ isAction }) => !isAction)).toBe(true)
  })

  it('need no cache', async () => {
    const world = createWorld()
    world.cacheIsAway = true
    expect(await world.use()).toEqual(world.stored)
  })
})
