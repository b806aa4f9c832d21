import { beforeEach, describe, expect, it, vi } from 'vitest'
import {
  mayHold,
  mayNothing,
  openSituation,
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

describe('while the feed is current', () => {
  it('answers from memory without a request', async () => {
    expect(await at.rights('alice')).toEqual(['deal.hold'])
    const before = [at.deal.cache.reads, at.asked()]
    for (let count = 0; count < 20; count += 1) {
      expect(at.deal.records.get('ALICE')).toMatchObject({ username: 'alice' })
      await at.time.pass(100)
    }
    expect([at.deal.cache.reads, at.asked()]).toEqual(before)
  })

  it('refuses a right from the moment its removal was announced', async () => {
    expect(await at.rights('alice')).toEqual(['deal.hold'])
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    await at.time.pass(5)
    expect(await at.rights('alice')).toEqual([])
  })

  it('notices a lost announcement by the next heartbeat', async () => {
    await at.rights('alice')
    at.deal.cache.deafen(50)
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    expect(await at.rights('alice')).toEqual(['deal.hold'])
    await at.time.pass(300)
    expect(await at.rights('alice')).toEqual([])
    expect(at.asked()).toBe(0)
  })

  it('refuses an older record from a load that began before an announcement', async () => {
    at.deal.cache.link.stall('answers', 100)
    const answer = at.deal.records.get('alice')
    await at.time.pass(20)
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    expect(await at.time.until(answer)).toMatchObject({ directRights: [] })
  })

  it('refuses a response that the auth server made before an announcement', async () => {
    at.world.cacheServer.evict(at.key('alice'))
    at.deal.authLink.stall('answers', 100)
    const answer = at.deal.records.get('alice')
    await at.time.pass(20)
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    expect(await at.time.until(answer)).toMatchObject({ directRights: [] })
  })

  it('reloads a record that was published again, although its version is the same', async () => {
    expect(await at.rights('alice')).toEqual(['deal.hold'])
    const before = at.deal.cache.reads
    await at.time.until(at.first.publisher.reloaded('alice'))
    await at.time.pass(5)
    expect(await at.rights('alice')).toEqual(['deal.hold'])
    expect(at.deal.cache.reads).toBe(before + 1)
    expect(at.asked()).toBe(0)
  })

  it('remembers that a record is outdated, also for a user without requests', async () => {
    expect(await at.rights('alice')).toEqual(['deal.hold'])
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    await at.time.pass(61_000)
    await at.time.until(at.world.change(at.first, 'bob', () => mayNothing))
    await at.time.pass(61_000)
    expect(await at.rights('alice')).toEqual([])
  })

  it('lets concurrent readers of one user share one load', async () => {
    const before = at.deal.cache.reads
    const answers = await at.time.until(Promise.all(Array.from({ length: 50 }, () => at.deal.records.get('alice'))))
    expect(answers.every((record) => record?.username === 'alice')).toBe(true)
    expect(at.deal.cache.reads).toBe(before + 1)
  })

  it('does not let a caller wait for a load that began long before', async () => {
    at.deal.cache.deafen(10_000)
    await at.time.pass(900)
    at.deal.authLink.stall('answers', 2_500)
    const before = at.asked()
    const first = at.deal.records.get('alice')
    await at.time.pass(500)
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    await at.time.pass(1_000)
    const second = at.deal.records.get('alice')
    expect(await at.time.until(second)).toMatchObject({ directRights: [] })
    await at.time.until(first)
    expect(at.asked()).toBe(before + 2)
  })

  it('does not believe the cache when the feed became too old during the read', async () => {
    at.deal.cache.deafen(10_000)
    await at.time.pass(450)
    at.deal.cache.link.stall('answers', 290)
    const answer = at.deal.records.get('alice')
    await at.time.pass(10)
    expect(at.asked()).toBe(0)
    await at.time.until(answer)
    expect(at.deal.feed.isCurrent()).toBe(false)
    expect(at.asked()).toBe(1)
  })

  it('does not believe the cache when the feed missed a message during the read', async () => {
    // Its next message would tell what was missed.
    at.second.kill()
    at.deal.cache.link.stall('answers', 290)
    const answer = at.deal.records.get('alice')
    at.deal.cache.deafen(30)
    await at.time.until(at.world.change(at.first, 'bob', () => mayNothing))
    await at.time.until(answer)
    expect(at.asked()).toBe(1)
  })

  it('does not load an unknown user for every request, but finds the user after its creation', async () => {
    expect(await at.rights('nina')).toBeUndefined()
    for (let count = 0; count < 10; count += 1) expect(await at.rights('nina')).toBeUndefined()
    expect(at.asked()).toBe(1)
    await at.time.until(at.world.change(at.second, 'nina', () => mayHold))
    await at.time.pass(5)
    expect(await at.rights('nina')).toEqual(['deal.hold'])
  })

  it('stays correct when more users changed than fit into a message', async () => {
    await at.rights('alice')
    at.second.kill()
    at.first.cache.link.cut(3_000)
    const change = () => at.world.principals.change('alice', () => mayNothing)
    await at.time.pass(1)
    change()
    for (let count = 0; count < 2_500; count += 1) at.world.principals.change(`user-${count}`, () => ({}))
    await at.time.pass(3_500)
    const before = at.asked()
    expect(await at.rights('alice')).toEqual([])
    expect(at.asked()).toBe(before)
  })
})
