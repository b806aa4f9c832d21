import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Unavailable } from '../../../shared/errors.ts'
import { FreshnessWorld } from '../../support/freshness-world.ts'

vi.mock('node:timers/promises', async () => {
  const { virtualSleep } = await import('../../support/virtual-time.ts')
  return { setTimeout: virtualSleep }
})

const recordMaxAgeMs = 20_000
const mayHold = { rights: ['deal.hold'] }
const mayNothing = { rights: [] }

/** Two auth servers, the first of which is asked, and a deal server that knows what alice may do and that bob exists. */
async function openWorld() {
  const world = new FreshnessWorld({ authServers: 2, dealServers: 1, recordMaxAgeMs, seed: 1 })
  const [first, second] = world.auth
  const [deal] = world.deals
  if (!first || !second || !deal) throw new Error('unreachable')
  const { time } = world
  const rights = async (username: string) => (await time.until(deal.records.get(username)))?.rights
  await time.pass(500)
  await time.until(world.change(second, 'alice', () => mayHold))
  await time.until(world.change(second, 'bob', () => mayHold))
  await time.pass(500)
  return { world, time, first, second, deal, rights, asked: () => deal.authLink.calls }
}

let at: Awaited<ReturnType<typeof openWorld>>
beforeEach(async () => {
  at = await openWorld()
})

const killAuthServers = () => {
  for (const server of at.world.auth) server.kill()
}

describe('while the feed is current', () => {
  it('answers from memory without asking anybody', async () => {
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

  it('does not take what a load under way brings from before an announcement', async () => {
    at.deal.cache.link.stall('answers', 100)
    const answer = at.deal.records.get('alice')
    await at.time.pass(20)
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    expect(await at.time.until(answer)).toMatchObject(mayNothing)
  })

  it('does not take what the auth server answered before an announcement', async () => {
    at.world.cacheServer.evict('{keyhold}:principal:alice')
    at.deal.authLink.stall('answers', 100)
    const answer = at.deal.records.get('alice')
    await at.time.pass(20)
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    expect(await at.time.until(answer)).toMatchObject(mayNothing)
  })

  it('remembers for a user who stayed away that the record is outdated', async () => {
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

  it('does not ask for an unknown user on every request, but knows it once it was created', async () => {
    expect(await at.rights('nina')).toBeUndefined()
    for (let count = 0; count < 10; count += 1) expect(await at.rights('nina')).toBeUndefined()
    expect(at.asked()).toBe(1)
    await at.time.until(at.world.change(at.second, 'nina', () => mayHold))
    await at.time.pass(5)
    expect(await at.rights('nina')).toEqual(['deal.hold'])
  })

  it('is told nothing wrong when more has changed than fits into a message', async () => {
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

describe('when the cache loses what it knew', () => {
  it('does not believe an old dump, however quiet the feed was', async () => {
    at.world.cacheServer.dump()
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    await at.time.pass(10_000)
    at.world.cacheServer.kill()
    at.world.cacheServer.start()
    at.world.restartDeal(0)
    const [deal] = at.world.deals
    for (let count = 0; count < 20; count += 1) {
      expect((await at.time.until(deal?.records.get('alice')))?.rights).toEqual([])
      await at.time.pass(100)
    }
  })

  it('refuses a record that was read before it restarted and arrives after', async () => {
    at.world.cacheServer.evict('{keyhold}:principal:alice')
    const { putVersioned } = at.first.cache
    at.first.cache.putVersioned = (key, ...rest) => {
      if (key.endsWith('alice')) at.first.cache.link.stall('requests', 250)
      return putVersioned.call(at.first.cache, key, ...rest)
    }
    const answer = at.deal.records.get('alice')
    await at.time.pass(20)
    await at.time.until(at.world.change(at.second, 'alice', () => mayNothing))
    at.world.cacheServer.kill()
    at.world.cacheServer.start()
    await at.time.pass(2_000)
    await at.time.until(answer)
    at.world.restartDeal(0)
    await at.time.pass(500)
    expect((await at.time.until(at.world.deals[0]?.records.get('alice')))?.rights).toEqual([])
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

  it('gives no further 500 ms to what it took from the cache', async () => {
    at.deal.cache.deafen(10_000)
    await at.time.pass(400)
    await at.rights('alice')
    expect(at.asked()).toBe(0)
    await at.time.pass(401)
    await at.rights('alice')
    expect(at.asked()).toBe(1)
  })

  it('counts the age of a message from the look into the database', async () => {
    await at.rights('alice')
    const { publish } = at.first.cache
    let heldUp = false
    at.first.cache.publish = (...args) => {
      heldUp = true
      at.first.cache.link.stall('requests', 470)
      return publish.apply(at.first.cache, args)
    }
    while (!heldUp) await at.time.pass(1)
    at.deal.cache.deafen(300)
    await at.time.until(at.world.change(at.second, 'alice', () => mayNothing))
    killAuthServers()
    await at.time.pass(1_000)
    expect(await at.rights('alice')).toEqual([])
  })
})

describe('while the auth server cannot be reached', () => {
  it('goes on with the records held for RECORD_MAX_AGE, then has no answer', async () => {
    await at.rights('alice')
    killAuthServers()
    await at.time.pass(recordMaxAgeMs)
    expect(await at.rights('alice')).toEqual(['deal.hold'])
    await at.time.pass(900)
    await expect(at.rights('alice')).rejects.toThrow(Unavailable)
  })

  it('has no answer for a user it holds no record of', async () => {
    killAuthServers()
    await at.time.pass(900)
    await expect(at.rights('alice')).rejects.toThrow(Unavailable)
    await expect(at.rights('nina')).rejects.toThrow(Unavailable)
  })

  it('does not use a record that it knows to be outdated', async () => {
    await at.rights('alice')
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    await at.time.pass(5)
    killAuthServers()
    at.deal.cache.link.cut(60_000)
    await at.time.pass(900)
    await expect(at.rights('alice')).rejects.toThrow(Unavailable)
  })

  it('takes a newer record than its own from the cache, though it missed the announcement', async () => {
    await at.rights('alice')
    at.deal.cache.deafen(50)
    await at.time.until(at.world.change(at.first, 'alice', () => mayNothing))
    killAuthServers()
    await at.time.pass(1_000)
    expect(await at.rights('alice')).toEqual([])
  })

  it('recovers as soon as one is there again', async () => {
    killAuthServers()
    await at.time.pass(900)
    await expect(at.rights('alice')).rejects.toThrow(Unavailable)
    at.world.startAuth(1)
    expect(await at.rights('alice')).toEqual(['deal.hold'])
  })
})

describe('when an auth server dies between the commit and the cache', () => {
  const dieAfterCommit = async () => {
    await at.rights('alice')
    at.world.principals.change('alice', () => mayNothing)
    at.first.kill()
  }

  it('has another one publish the change', async () => {
    await dieAfterCommit()
    await at.time.pass(500)
    expect(await at.rights('alice')).toEqual([])
    expect(at.world.cacheServer.versionOf('{keyhold}:principal:alice')).toBe(3)
  })

  it('publishes the change itself when it is started again', async () => {
    at.second.kill()
    await dieAfterCommit()
    at.world.startAuth(0)
    await at.time.pass(500)
    expect(await at.rights('alice')).toEqual([])
    expect(at.world.cacheServer.versionOf('{keyhold}:principal:alice')).toBe(3)
  })
})
