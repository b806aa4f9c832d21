import { expect, it } from 'vitest'
import { createInternalNonces } from '../../../auth-server/http/internal/nonces.ts'
import { createMemoryCache } from '../../../shared/platform/cache/memory-cache.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { createMovableClock } from '../../support/worlds/movable-clock.ts'

const clock = createMovableClock()
const now = (): number => Math.floor(clock.now() / 1000)
const client = (nonce: string, time = now(), service?: string) => ({ nonce, time, service })

it('are good once', async () => {
  const use = createInternalNonces({ cache: undefined, clock })
  expect(await use(client('one'))).toBe(true)
  expect(await use(client('one'))).toBe(false)
  expect(await use(client('two'))).toBe(true)
  clock.advanceSeconds(89)
  expect(await use(client('one', now() - 89))).toBe(false)
})

it('are good once on all auth servers that share a cache', async () => {
  const cache = createMemoryCache(clock)
  const [first, second] = [createInternalNonces({ cache, clock }), createInternalNonces({ cache, clock })]
  expect(await first(client('one'))).toBe(true)
  expect(await second(client('one'))).toBe(false)
  expect(await second(client('two'))).toBe(true)
})

it('are good once on each auth server while the cache does not answer, which is then not asked for a second', async () => {
  let asked = 0
  const putVersioned = async () => {
    asked += 1
    throw new Unavailable('cache')
  }
  let elapsedMs = 0
  const timed = { now: clock.now, monotonic: () => elapsedMs }
  const use = createInternalNonces({ cache: { putVersioned }, clock: timed })
  expect(await use(client('one'))).toBe(true)
  expect(await use(client('one'))).toBe(false)
  expect(await use(client('two'))).toBe(true)
  expect(asked).toBe(1)
  elapsedMs += 1_000
  expect(await use(client('three'))).toBe(true)
  expect(asked).toBe(2)
})

it('are not good again once they are too many to be remembered', async () => {
  const use = createInternalNonces({ cache: undefined, clock, maxNonces: 10 })
  const early = Array.from({ length: 8 }, (_, index) => client(`early ${index}`, now() - 5))
  for (const one of early) expect(await use(one)).toBe(true)
  for (let index = 0; index < 8; index += 1) expect(await use(client(`late ${index}`))).toBe(true)
  for (const one of early) expect(await use(one)).toBe(false)
  expect(await use(client('never seen', now() - 5))).toBe(false)
  expect(await use(client('never seen'))).toBe(true)
})

it('of one service displace none of another one, nor of the pair', async () => {
  const use = createInternalNonces({ cache: undefined, clock, maxNonces: 10 })
  for (let index = 0; index < 40; index += 1) await use(client(`flood ${index}`, now() + 85 + (index % 4), 'rogue'))
  for (const service of ['honest', undefined]) {
    expect(await use(client('one', now(), service))).toBe(true)
    expect(await use(client('one', now(), service))).toBe(false)
  }
  expect(await use(client('one', now(), 'rogue'))).toBe(false)
})
