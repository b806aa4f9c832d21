/**
 * The promise about principal records, on the real publisher, feed and records over a simulated network: changes,
 * reads, lost and late messages, caches that start from an old dump, and servers that die, in any order.
 */
import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import type { PrincipalFacts } from '../../../auth-server/principals/principal-record.ts'
import { principalKey } from '../../../shared/protocol/principal/record.ts'
import { campaign } from '../../support/campaign.ts'
import { FreshnessWorld } from '../../support/worlds/freshness/freshness-world.ts'

vi.mock('node:timers/promises', async () => {
  const { virtualSleep } = await import('../../support/worlds/freshness/virtual-time.ts')
  return { setTimeout: virtualSleep }
})

vi.mock('../../../shared/platform/concurrency/deadline.ts', async (original) => {
  const { virtualDeadlines } = await import('../../support/worlds/freshness/virtual-time.ts')
  return virtualDeadlines(await original<typeof import('../../../shared/platform/concurrency/deadline.ts')>())
})

// So that a few changes need a series.
vi.mock('../../../shared/protocol/principal/change-feed.ts', async (original) => ({
  ...(await original<object>()),
  maxChangesInMessage: 3,
}))

const usernames = ['alice', 'bob', 'nina']
const recordMaxAgeMs = 5_000

const place = fc.nat(1)
const authPlace = fc.nat(2)
const username = fc.oneof({ weight: 4, arbitrary: fc.constant('alice') }, fc.constantFrom(...usernames))
const direction = fc.constantFrom('requests' as const, 'answers' as const)
const shortMs = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 1_200 }))
const longMs = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 100, max: 3_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 10_000, max: 70_000 }) },
)

type Step = (world: FreshnessWorld) => void
const step = <Values extends unknown[]>(
  name: string,
  arbitraries: { [At in keyof Values]: fc.Arbitrary<Values[At]> },
  run: (world: FreshnessWorld, ...values: Values) => void,
) =>
  fc.tuple<Values>(...arbitraries).map((values) => {
    const bound: Step = (world) => run(world, ...values)
    return Object.assign(bound, { [fc.toStringMethod]: () => `${name}(${values.join(', ')})` })
  })

const changes: Record<string, (before: PrincipalFacts) => Partial<PrincipalFacts>> = {
  right: ({ rights }) => ({ rights: rights.length === 0 ? ['deal.hold'] : [] }),
  logout: ({ revokedIds, version }) => ({ revokedIds: [...revokedIds, `login-${version}`].slice(-2) }),
  everywhere: ({ generation }) => ({ generation: generation + 1 }),
}

type ChangeValues = [number, string, string]
const aChange: [fc.Arbitrary<number>, fc.Arbitrary<string>, fc.Arbitrary<string>] = [
  authPlace,
  username,
  fc.constantFrom(...Object.keys(changes)),
]
const act = (world: FreshnessWorld, how: 'change' | 'changeAndWatch', [at, name, kind]: ChangeValues): void => {
  const [server, change] = [world.auth[at], changes[kind]]
  if (server && change) void world[how](server, name, change)
}

const steps = fc.oneof(
  { weight: 4, arbitrary: step('change', aChange, (world, ...change) => act(world, 'change', change)) },
  { weight: 4, arbitrary: step('changeAndWatch', aChange, (world, ...change) => act(world, 'changeAndWatch', change)) },
  {
    weight: 6,
    arbitrary: step('read', [place, username], (world, at, name) => {
      const deal = world.deals[at]
      if (deal) void world.read(deal, name)
    }),
  },
  {
    weight: 6,
    arbitrary: step('readAtAuth', [authPlace, username], (world, at, name) => {
      const server = world.auth[at]
      if (server?.alive) void world.read(server, name)
    }),
  },
  {
    weight: 3,
    arbitrary: step('readAcrossChange', [place, shortMs, fc.boolean()], (world, at, ms, forget) => {
      if (forget) world.restartDeal(at)
      const deal = world.deals[at]
      if (!deal) return
      deal.cache.link.stall('answers', ms)
      deal.authLink.stall('answers', ms)
      void world.read(deal, 'alice')
      world.time.after(ms / 2, () => act(world, 'changeAndWatch', [0, 'alice', 'right']))
    }),
  },
  {
    weight: 2,
    arbitrary: step('changeAndKill', [authPlace, username, fc.nat(40)], (world, at, name, ms) => {
      act(world, 'changeAndWatch', [at, name, 'right'])
      world.time.after(ms, () => world.auth[at]?.kill())
    }),
  },
  {
    weight: 2,
    arbitrary: step('changeAndKillDatabase', [authPlace, username, fc.nat(40), longMs], (world, at, name, ms, away) => {
      act(world, 'changeAndWatch', [at, name, 'right'])
      world.time.after(ms, () => world.cutFromDatabase(away))
    }),
  },
  step('killDatabase', [longMs], (world, ms) => world.cutFromDatabase(ms)),
  step('changeMany', [fc.boolean()], (world, around) => {
    if (around) world.principals.change('alice', changes.right as (before: PrincipalFacts) => Partial<PrincipalFacts>)
    for (let count = 0; count < 5; count += 1) world.principals.change(`one-${count}`, () => ({}))
    act(world, 'changeAndWatch', [0, 'bob', 'right'])
  }),
  step('reload', [authPlace, username], (world, at, name) => void world.auth[at]?.publisher.reloaded(name)),
  step('killAuth', [authPlace], (world, at) => world.auth[at]?.kill()),
  step('startAuth', [authPlace], (world, at) => world.startAuth(Math.min(at, world.auth.length))),
  step('restartDeal', [place], (world, at) => world.restartDeal(at)),
  step('dump', [], (world) => world.cacheServer.dump()),
  step('restartCache', [shortMs], (world, milliseconds) => {
    world.cacheServer.kill()
    world.time.after(milliseconds, () => world.cacheServer.start())
  }),
  step('evict', [username], (world, name) => world.cacheServer.evict(principalKey(world.principals.instanceId, name))),
  { weight: 3, arbitrary: step('deafen', [place, shortMs], (world, at, ms) => world.deals[at]?.cache.deafen(ms)) },
  step('cutDealFromCache', [place, longMs], (world, at, ms) => {
    world.deals[at]?.cache.link.cut(ms)
    world.deals[at]?.cache.deafen(ms)
  }),
  step('cutDealFromAuth', [place, longMs], (world, at, ms) => world.deals[at]?.authLink.cut(ms)),
  step('cutAuthFromCache', [authPlace, longMs], (world, at, ms) => world.auth[at]?.cache.link.cut(ms)),
  step('stallDealToCache', [place, direction, shortMs], (world, at, way, ms) =>
    world.deals[at]?.cache.link.stall(way, ms),
  ),
  step('stallDealToAuth', [place, direction, shortMs], (world, at, way, ms) =>
    world.deals[at]?.authLink.stall(way, ms),
  ),
  step('stallAuthToCache', [authPlace, direction, shortMs], (world, at, way, ms) =>
    world.auth[at]?.cache.link.stall(way, ms),
  ),
  step('stallAuthToDatabase', [authPlace, direction, shortMs], (world, at, way, ms) =>
    world.auth[at]?.database.link.stall(way, ms),
  ),
)

const pause = fc.oneof(
  { weight: 16, arbitrary: fc.integer({ min: 0, max: 10 }) },
  { weight: 16, arbitrary: fc.integer({ min: 0, max: 400 }) },
  { weight: 8, arbitrary: fc.integer({ min: 400, max: 3_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(25_000, 61_000) },
)

const run = fc.record({
  seed: fc.nat(),
  authServers: fc.constantFrom(1, 2, 3),
  dealServers: fc.constantFrom(1, 2),
  streams: fc.boolean(),
  steps: fc.array(fc.tuple(steps, pause), { minLength: 5, maxLength: 60, size: 'max' }),
})

it('no server accepts what an acknowledged change revoked a second ago, and no version goes back', async () => {
  const numRuns = campaign({ short: 30, long: 500 })
  await fc.assert(
    fc.asyncProperty(run, async ({ steps, ...options }) => {
      const world = new FreshnessWorld({ ...options, recordMaxAgeMs })
      const [first] = world.auth
      for (const name of ['alice', 'bob']) if (first) await world.time.until(world.change(first, name, () => ({})))
      for (const [step, milliseconds] of steps) {
        step(world)
        await world.time.pass(milliseconds)
      }
      await world.recover(usernames)
      expect(world.violations).toEqual([])
    }),
    { numRuns },
  )
}, 240_000)
