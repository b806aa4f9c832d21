import { describe, expect, it } from 'vitest'
import { WakeUps } from '../../../deal-server/events/wake-ups.ts'
import type { Cache } from '../../../shared/platform/cache/cache.ts'
import { createMemoryCache } from '../../../shared/platform/cache/memory-cache.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

class Server {
  heard = 0
  readonly wakeUps: WakeUps

  constructor(cache: Cache, instanceId?: string) {
    const onWakeUp = () => {
      this.heard += 1
    }
    this.wakeUps = new WakeUps(fakeSystems({ cache }), { instanceId: () => instanceId, onWakeUp, pauseMs: 5 })
  }
}

describe('wake-ups', () => {
  it('reach the own reader at once and the readers of other servers soon, each once', async () => {
    const cache = createMemoryCache(systemClock)
    const [here, there, elsewhere] = [new Server(cache, 'a'), new Server(cache, 'a'), new Server(cache, 'b')]
    await Promise.all([here, there, elsewhere].map(({ wakeUps }) => wakeUps.start()))
    here.wakeUps.send()
    expect(here.heard).toBe(1)
    await pass(20)
    expect([here.heard, there.heard, elsewhere.heard]).toEqual([1, 1, 0])
    await there.wakeUps.stop()
    here.wakeUps.send()
    await pass(20)
    expect(there.heard).toBe(1)
  })

  it('are gathered, and the last one is not lost', async () => {
    let published = 0
    const cache = createMemoryCache(systemClock)
    const counting: Cache = Object.assign(createMemoryCache(systemClock), {
      time: () => cache.time(),
      subscribe: cache.subscribe.bind(cache),
      publish: (...message: Parameters<Cache['publish']>) => {
        published += 1
        return cache.publish(...message)
      },
    })
    const [here, there] = [new Server(counting, 'a'), new Server(cache, 'a')]
    await there.wakeUps.start()
    for (let count = 0; count < 1000; count += 1) here.wakeUps.send()
    await pass(50)
    expect(published).toBe(2)
    expect(there.heard).toBe(2)
  })

  it('do no harm without the cache, and work again when it is back', async () => {
    let isAway = true
    const cache = createMemoryCache(systemClock)
    const failing: Cache = Object.assign(createMemoryCache(systemClock), {
      subscribe: cache.subscribe.bind(cache),
      publish: cache.publish.bind(cache),
      time: async () => {
        if (isAway) throw new Unavailable('cache')
        return cache.time()
      },
    })
    const [here, there] = [new Server(failing, 'a'), new Server(cache, 'a')]
    await there.wakeUps.start()
    here.wakeUps.send()
    await pass(20)
    expect(there.heard).toBe(0)
    isAway = false
    here.wakeUps.send()
    await pass(20)
    expect(there.heard).toBe(1)
  })
})
