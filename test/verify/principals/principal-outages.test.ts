import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import {
  mayNothing,
  openSituation,
  recordMaxAgeMs,
  type Situation,
} from '../../support/worlds/freshness/freshness-situation.ts'

vi.mock('node:timers/promises', async () => {
  const { virtualSleep } = await import('../../support/worlds/freshness/virtual-time.ts')
  return { setTimeout: virtualSleep }
})

let at: Situation
beforeEach(async () => {
  at = await openSituation()
})

describe('when the cache loses its data', () => {
  it('does not believe an old dump, even after a feed without changes', async () => {
    at.world.cacheServer.dump()
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    await at.time.pass(10_000)
    at.world.cacheServer.kill()
    at.world.cacheServer.start()
    at.world.restartDeal(0)
    const [deal] = at.world.deals
    for (let count = 0; count < 20; count += 1) {
      expect((await at.time.until(deal?.records.get('alice')))?.directRights).toEqual([])
      await at.time.pass(100)
    }
  })

  it('refuses a record that was read before it restarted and arrives after', async () => {
    at.world.cacheServer.evict(at.key('alice'))
    const { putVersioned } = at.first.cache
    let isHeldUp = false
    at.first.cache.putVersioned = (key, ...rest) => {
      if (key.endsWith('alice')) {
        isHeldUp = true
        at.first.cache.link.stall('requests', 250)
      }
      return putVersioned.call(at.first.cache, key, ...rest)
    }
    void at.deal.records.get('alice')
    while (!isHeldUp) await at.time.pass(1)
    at.first.kill()
    at.world.restartDeal(0)
    await at.time.until(at.world.change(at.second, 'alice', () => mayNothing))
    at.world.cacheServer.kill()
    at.world.cacheServer.start()
    await at.time.pass(2_000)
    expect(await at.rightsAfterRestart('alice')).toEqual([])
  })

  it('is not used when its record is older than announced', async () => {
    const outdated = await at.time.until(at.deal.cache.getVersioned(at.key('alice')))
    at.deal.cache.getVersioned = async () => outdated
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    await at.time.pass(5)
    expect(await at.rights('alice')).toEqual([])
    expect(at.asked()).toBe(1)
  })

  it('gets no record before its published version is known', async () => {
    at.second.kill()
    await at.time.until(at.first.publisher.stop())
    at.world.cacheServer.kill()
    at.world.cacheServer.start()
    await at.time.pass(900)
    expect(await at.rights('alice')).toEqual(['deal.hold'])
    at.world.principals.change('alice', () => mayNothing)
    at.first.kill()
    at.world.startAuth(0)
    expect(await at.rightsAfterRestart('alice')).toEqual([])
  })
})

describe('while the feed is not current', () => {
  it('asks the auth server once the last message is 800 ms old, and believes its answer for 500 ms', async () => {
    await at.rights('alice')
    at.deal.cache.deafen(10_000)
    await at.time.pass(400)
    await at.rights('alice')
    expect(at.asked()).toBe(0)
    await at.time.pass(401)
    await at.rights('alice')
    expect(at.asked()).toBe(1)
    await at.time.pass(450)
    await at.rights('alice')
    expect(at.asked()).toBe(1)
    await at.time.pass(51)
    await at.rights('alice')
    expect(at.asked()).toBe(2)
  })

  it('counts the time of messages on their way: a slow connection hides no change', async () => {
    await at.rights('alice')
    for (let slownessMs = 0; slownessMs < 2_500; slownessMs += 50) {
      at.deal.cache.slowDown(slownessMs)
      await at.time.pass(100)
    }
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    await at.time.pass(1_000)
    expect(at.deal.feed.isCurrent()).toBe(false)
    expect(await at.rights('alice')).toEqual([])
    at.deal.cache.slowDown(0)
    await at.time.pass(500)
    expect(at.deal.feed.isCurrent()).toBe(true)
  })

  it('believes nothing while the connection does not respond, even with a fresh message', async () => {
    await at.rights('alice')
    at.deal.cache.silent = true
    expect(at.deal.feed.isCurrent()).toBe(false)
    await at.rights('alice')
    expect(at.asked()).toBe(1)
    at.deal.cache.silent = false
    await at.rights('alice')
    expect(at.asked()).toBe(1)
  })

  it('does not keep a record from the cache for another 500 ms', async () => {
    at.deal.cache.deafen(10_000)
    await at.time.pass(400)
    await at.rights('alice')
    expect(at.asked()).toBe(0)
    await at.time.pass(401)
    await at.rights('alice')
    expect(at.asked()).toBe(1)
  })

  it('counts the age of a message from the read of the database', async () => {
    await at.rights('alice')
    const { database } = at.first
    const { query } = database
    let hasLooked = false
    database.query = async (text, parameters) => {
      const answer = query.call(database, text, parameters)
      const isLook = parameters?.length === 3
      if (isLook) database.link.stall('answers', 380)
      hasLooked ||= isLook
      return (await answer) as never
    }
    while (!hasLooked) await at.time.pass(1)
    await at.time.pass(5)
    at.deal.cache.deafen(300)
    await at.time.until(at.world.change(at.second, 'alice', () => mayNothing))
    at.second.kill()
    await at.time.pass(450)
    at.first.kill()
    await at.time.pass(550)
    expect(await at.rights('alice')).toEqual([])
  })

  it('ignores a message that was delayed on its way to the cache', async () => {
    await at.rights('alice')
    const { publish } = at.first.cache
    let isHeldUp = false
    at.first.cache.publish = (...args) => {
      isHeldUp = true
      at.first.cache.link.stall('requests', 470)
      return publish.apply(at.first.cache, args)
    }
    while (!isHeldUp) await at.time.pass(1)
    at.deal.cache.deafen(300)
    await at.time.until(at.world.change(at.second, 'alice', () => mayNothing))
    at.killAuthServers()
    await at.time.pass(1_000)
    expect(await at.rights('alice')).toEqual([])
  })
})

describe('while the auth server cannot be reached', () => {
  it('continues with known records for RECORD_MAX_AGE, then fails', async () => {
    await at.rights('alice')
    at.killAuthServers()
    await at.time.pass(recordMaxAgeMs)
    expect(await at.rights('alice')).toEqual(['deal.hold'])
    await at.time.pass(900)
    await expect(at.rights('alice')).rejects.toThrow(Unavailable)
  })

  it('fails for a user without a known record', async () => {
    at.killAuthServers()
    await at.time.pass(900)
    await expect(at.rights('alice')).rejects.toThrow(Unavailable)
    await expect(at.rights('nina')).rejects.toThrow(Unavailable)
  })

  it('does not use a record that it knows to be outdated', async () => {
    await at.rights('alice')
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    await at.time.pass(5)
    at.killAuthServers()
    at.deal.cache.link.cut(60_000)
    await at.time.pass(900)
    await expect(at.rights('alice')).rejects.toThrow(Unavailable)
  })

  it('takes a newer record than its own from the cache, though it missed the announcement', async () => {
    await at.rights('alice')
    at.deal.cache.deafen(50)
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    at.killAuthServers()
    await at.time.pass(1_000)
    expect(await at.rights('alice')).toEqual([])
  })

  it('recovers as soon as an auth server is back', async () => {
    at.killAuthServers()
    await at.time.pass(900)
    await expect(at.rights('alice')).rejects.toThrow(Unavailable)
    at.world.startAuth(1)
    expect(await at.rights('alice')).toEqual(['deal.hold'])
  })
})

describe('when an auth server stops between the commit and the cache', () => {
  const dieAfterCommit = async () => {
    await at.rights('alice')
    at.world.principals.change('alice', () => mayNothing)
    at.first.kill()
  }

  it('publishes the change itself when it is started again', async () => {
    at.second.kill()
    await dieAfterCommit()
    at.world.startAuth(0)
    await at.time.pass(500)
    expect(await at.rights('alice')).toEqual([])
    expect(at.world.cacheServer.versionOf(at.key('alice'))).toBe(3)
  })
})
