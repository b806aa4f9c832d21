import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cache, cacheKey, type Versioned } from '../../../../shared/platform/cache/cache.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { campaign } from '../../../support/campaign.ts'

/** One cache, and how its time passes. */
export interface CacheUnderTest {
  readonly cache: Cache
  /** Another way to the same content: a second client of it, or the same object where there is but one. */
  readonly other: Cache
  /** Lets `milliseconds` pass on the cache's clock. */
  pass(milliseconds: number): Promise<void>
}

const random = (): string => Math.random().toString(36).slice(2)
const uniqueName = (): string => cacheKey(`test:${random()}`)
const ttlSeconds = 60
const aVersion = fc.oneof(fc.nat(5), fc.integer({ min: Number.MAX_SAFE_INTEGER - 3, max: Number.MAX_SAFE_INTEGER }))
const anEntry = fc.record({ version: aVersion, value: fc.string({ unit: 'binary' }) })

/** What every cache owes its users, whatever it is made of. */
export function describeCache(name: string, open: () => Promise<CacheUnderTest>): void {
  describe(`cache contract: ${name}`, () => {
    let under: CacheUnderTest
    beforeAll(async () => {
      under = await open()
    })
    afterAll(async () => {
      await under.cache.close()
      await under.other.close()
    })

    describeEntries(() => under)
    describeEpochs(() => under)
    describeChannels(() => under)
    describeAttempts(() => under)
    describeNumbers(() => under)

    it('answers a ping', async () => {
      await expect(under.cache.ping()).resolves.toBeUndefined()
    })

    it('is unavailable after it was closed', async () => {
      const { cache, other } = await open()
      await cache.close()
      await other.close()
      await expect(cache.ping()).rejects.toThrow(Unavailable)
      await expect(cache.getVersioned(uniqueName())).rejects.toThrow(Unavailable)
      await expect(cache.putVersioned(uniqueName(), { version: 1, value: '' }, { ttlSeconds })).rejects.toThrow(
        Unavailable,
      )
    })
  })
}

function describeEntries(under: () => CacheUnderTest): void {
  it('has no entry for a key that was never put', async () => {
    expect(await under().cache.getVersioned(uniqueName())).toBeUndefined()
  })

  it('keeps of entries put one after the other the highest version, and of equal ones the last', async () => {
    const entries = fc.array(fc.record({ entry: anEntry, ifAbsent: fc.boolean() }), { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(entries, async (puts) => {
        const key = uniqueName()
        let kept: Versioned | undefined
        for (const { entry, ifAbsent } of puts) {
          const expected = kept === undefined || (!ifAbsent && kept.version <= entry.version)
          expect(await under().cache.putVersioned(key, entry, { ttlSeconds, ifAbsent })).toBe(expected)
          if (expected) kept = entry
          expect(await under().other.getVersioned(key)).toEqual(kept)
        }
      }),
      { numRuns: campaign({ short: 20, long: 50 }) },
    )
  })

  it('keeps the highest version of entries put at the same time by two clients', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anEntry, { minLength: 2, maxLength: 12 }), async (entries) => {
        const key = uniqueName()
        const { cache, other } = under()
        const puts = entries.map((entry, index) => (index % 2 ? other : cache).putVersioned(key, entry, { ttlSeconds }))
        const kept = await Promise.all(puts)
        const highest = Math.max(...entries.map(({ version }) => version))
        const candidates = entries.filter(({ version }, index) => version === highest && kept[index])
        expect(candidates).toContainEqual(await cache.getVersioned(key))
        expect(candidates).toEqual(entries.filter(({ version }) => version === highest))
      }),
      { numRuns: campaign({ short: 20, long: 50 }) },
    )
  })

  it('tells neighbouring versions just below 2^53 apart', async () => {
    const key = uniqueName()
    const version = Number.MAX_SAFE_INTEGER
    expect(await under().cache.putVersioned(key, { version, value: 'new' }, { ttlSeconds })).toBe(true)
    expect(await under().cache.putVersioned(key, { version: version - 1, value: 'old' }, { ttlSeconds })).toBe(false)
    expect(await under().cache.getVersioned(key)).toEqual({ version, value: 'new' })
  })

  it.each([-1, 1.5, Number.NaN, 2 ** 53])('does not take %d as a version', async (version) => {
    await expect(under().cache.putVersioned(uniqueName(), { version, value: '' }, { ttlSeconds })).rejects.toThrow(
      RangeError,
    )
  })

  it('forgets an entry when its time to live is over, and then takes a lower version', async () => {
    const key = uniqueName()
    await under().cache.putVersioned(key, { version: 2, value: 'short' }, { ttlSeconds: 2 })
    expect(await under().cache.getVersioned(key)).toEqual({ version: 2, value: 'short' })
    await under().pass(2_050)
    expect(await under().cache.getVersioned(key)).toBeUndefined()
    expect(await under().cache.putVersioned(key, { version: 1, value: 'low' }, { ttlSeconds, ifAbsent: true })).toBe(
      true,
    )
  })

  it('gives a replaced entry the time to live of the new one', async () => {
    const key = uniqueName()
    await under().cache.putVersioned(key, { version: 1, value: 'short' }, { ttlSeconds: 0.1 })
    await under().cache.putVersioned(key, { version: 1, value: 'long' }, { ttlSeconds })
    await under().pass(150)
    expect(await under().cache.getVersioned(key)).toEqual({ version: 1, value: 'long' })
  })
}

function describeEpochs(under: () => CacheUnderTest): void {
  const entry = { version: 1, value: 'x' }

  it('keeps an entry whose moment is of the present run', async () => {
    const key = uniqueName()
    const since = await under().cache.time()
    expect(await under().other.putVersioned(key, entry, { ttlSeconds, since })).toBe(true)
    expect(await under().cache.getVersioned(key)).toEqual(entry)
  })

  it('does not keep an entry whose moment is of another run', async () => {
    const key = uniqueName()
    const since = `gone${await under().cache.time()}`
    expect(await under().cache.putVersioned(key, entry, { ttlSeconds, since })).toBe(false)
    expect(await under().cache.getVersioned(key)).toBeUndefined()
  })

  it('publishes up to the given age of the moment and not after', async () => {
    const since = await under().cache.time()
    const channel = uniqueName()
    const heard: string[] = []
    const leave = await under().cache.subscribe(channel, (message) => heard.push(message))
    expect(await under().cache.publish(channel, 'in time', { since, maxAgeMs: 5000 })).toBe(true)
    await under().pass(60)
    expect(await under().cache.publish(channel, 'too late', { since, maxAgeMs: 50 })).toBe(false)
    expect(await under().cache.publish(channel, 'late but allowed', { since, maxAgeMs: 5000 })).toBe(true)
    await expect.poll(() => heard).toEqual(['in time', 'late but allowed'])
    await leave()
  })

  it('does not publish for a moment of another run, or one in the future', async () => {
    const now = await under().cache.time()
    const later = now.replace(/\d+(\.\d+)?$/, (milliseconds) => String(Number(milliseconds) + 10_000))
    expect(await under().cache.publish(uniqueName(), 'x', { since: `gone${now}`, maxAgeMs: 5000 })).toBe(false)
    expect(await under().cache.publish(uniqueName(), 'x', { since: later, maxAgeMs: 5000 })).toBe(false)
  })
}

function describeAttempts(under: () => CacheUnderTest): void {
  const limit = { count: 3, seconds: 2 }
  const limited = (...keys: string[]) => keys.map((key) => ({ key, limit }))
  const begin = async (key: string, id: string) => (await under().cache.beginAttempt(limited(key), id)).state
  const end = (key: string, id: string, failed: boolean) => under().other.endAttempt(limited(key), { id, failed })
  const allows = async (...keys: string[]) => (await under().other.allowsAttempt(limited(...keys))).state

  it('allows as many attempts as there may be failures, and the next when one has ended well', async () => {
    const key = uniqueName()
    expect([await begin(key, 'a'), await begin(key, 'b')]).toEqual(['allowed', 'allowed'])
    expect(await allows(key)).toBe('allowed')
    expect(await begin(key, 'c')).toBe('allowed')
    expect([await allows(key), await begin(key, 'd')]).toEqual(['busy', 'busy'])
    await end(key, 'd', false)
    expect(await begin(key, 'd')).toBe('busy')
    await end(key, 'b', false)
    expect([await allows(key), await begin(key, 'd')]).toEqual(['allowed', 'allowed'])
    expect(await begin(uniqueName(), 'd')).toBe('allowed')
  })

  it('allows none after too many failures, until their window is over', async () => {
    const key = uniqueName()
    for (const id of ['a', 'b', 'c']) {
      expect(await begin(key, id)).toBe('allowed')
      await end(key, id, true)
    }
    for (const verdict of [
      await under().other.beginAttempt(limited(key), 'd'),
      await under().other.allowsAttempt(limited(key)),
    ]) {
      if (verdict.state !== 'exhausted') throw new Error(verdict.state)
      expect(verdict.retryAfterMs).toBeGreaterThan(0)
      expect(verdict.retryAfterMs).toBeLessThanOrEqual(2_000)
    }
    await under().pass(2_050)
    expect([await allows(key), await begin(key, 'd')]).toEqual(['allowed', 'allowed'])
  })

  it('counts failures of attempts that it never saw begin', async () => {
    const key = uniqueName()
    for (const id of ['a', 'b', 'c']) await end(key, id, true)
    expect([await allows(key), await begin(key, 'd')]).toEqual(['exhausted', 'exhausted'])
  })

  it('begins an attempt under all of its keys or under none', async () => {
    const [full, open] = [uniqueName(), uniqueName()]
    for (const id of ['a', 'b', 'c']) await begin(full, id)
    for (const id of ['d', 'e', 'f']) {
      expect(await under().cache.beginAttempt(limited(open, full), id)).toEqual({ state: 'busy' })
    }
    expect([await allows(open), await allows(open, full), await allows(full, open)]).toEqual([
      'allowed',
      'busy',
      'busy',
    ])
    for (const id of ['a', 'b', 'c']) await end(full, id, false)
    for (const id of ['d', 'e', 'f']) {
      expect(await under().cache.beginAttempt(limited(open, full), id)).toEqual({ state: 'allowed' })
    }
    expect([await allows(open), await allows(full)]).toEqual(['busy', 'busy'])
    for (const id of ['d', 'e', 'f']) await under().cache.endAttempt(limited(open, full), { id, failed: true })
    expect([await allows(open), await allows(full)]).toEqual(['exhausted', 'exhausted'])
  })

  it('answers the end of the last window that must end first', async () => {
    const [short, long] = [uniqueName(), uniqueName()]
    const keys = [
      { key: long, limit: { count: 1, seconds: 60 } },
      { key: short, limit: { count: 1, seconds: 20 } },
    ]
    await under().cache.endAttempt(keys, { id: 'a', failed: true })
    const verdict = await under().cache.allowsAttempt(keys)
    if (verdict.state !== 'exhausted') throw new Error(verdict.state)
    expect(verdict.retryAfterMs).toBeGreaterThan(50_000)
  })
}

function describeNumbers(under: () => CacheUnderTest): void {
  const use = (key: string, number: number) => under().cache.useNumber(key, { number, ttlSeconds })
  const start = (key: string, number: number) => under().other.startNumbers(key, { number, ttlSeconds })

  it('answers unknown for numbers that were not started or have expired', async () => {
    const key = uniqueName()
    expect(await use(key, 1)).toBe('unknown')
    await under().cache.startNumbers(key, { number: 1, ttlSeconds: 0.1 })
    expect(await use(uniqueName(), 2)).toBe('unknown')
    await under().pass(150)
    expect(await use(key, 2)).toBe('unknown')
  })

  it('uses each number once, any ahead of the highest one and up to 63 behind it', async () => {
    const near = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 20 }))
    const number = fc.oneof({ weight: 9, arbitrary: near }, fc.integer({ min: 1, max: 0xffff_ffff }))
    const numbers = fc.array(number, { minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 70 }), numbers, async (first, others) => {
        const key = uniqueName()
        await start(key, first)
        const used = new Set([first])
        let highest = first
        for (const number of others) {
          const isGood = !used.has(number) && number > highest - 64
          expect(await use(key, number)).toBe(isGood ? 'used' : 'refused')
          if (!isGood) continue
          used.add(number)
          highest = Math.max(highest, number)
        }
      }),
      { numRuns: campaign({ short: 20, long: 50 }) },
    )
  })

  it('uses a number once when it comes to two clients at the same time', async () => {
    const key = uniqueName()
    await start(key, 1)
    const uses = Array.from({ length: 20 }, (_, at) =>
      (at % 2 ? under().cache : under().other).useNumber(key, { number: 2 + (at % 5), ttlSeconds }),
    )
    expect((await Promise.all(uses)).filter((outcome) => outcome === 'used')).toHaveLength(5)
  })

  it('counts up to the highest number that eight hexadecimal digits hold', async () => {
    const key = uniqueName()
    await start(key, 0xfffffffe)
    expect(await use(key, 0xffffffff)).toBe('used')
    expect(await use(key, 0xffffffff)).toBe('refused')
    expect(await use(key, 0xfffffffd)).toBe('used')
  })
}

function describeChannels(under: () => CacheUnderTest): void {
  const publish = async (channel: string, message: string): Promise<void> => {
    const since = await under().other.time()
    expect(await under().other.publish(channel, message, { since, maxAgeMs: 5000 })).toBe(true)
  }

  it('delivers messages in the order of publication, to every listener of the channel and to no other', async () => {
    const channel = uniqueName()
    const heard: string[][] = [[], [], []]
    const leave = await Promise.all([
      under().cache.subscribe(channel, (message) => heard[0]?.push(message)),
      under().other.subscribe(channel, (message) => heard[1]?.push(message)),
      under().cache.subscribe(uniqueName(), (message) => heard[2]?.push(message)),
    ])
    const since = await under().other.time()
    const messages = Array.from({ length: 200 }, (_, index) => `${index} ünïcødé ${'x'.repeat(index)}`)
    await Promise.all(messages.map((message) => under().other.publish(channel, message, { since, maxAgeMs: 5000 })))
    await expect.poll(() => heard[1]).toEqual(messages)
    await expect.poll(() => heard[0]).toEqual(messages)
    expect(heard[2]).toEqual([])
    await Promise.all(leave.map((stop) => stop()))
  })

  it('delivers everything that is published after subscribe has resolved', async () => {
    for (let round = 0; round < 10; round++) {
      const channel = uniqueName()
      const heard: string[] = []
      const leave = await under().cache.subscribe(channel, (message) => heard.push(message))
      await publish(channel, 'first')
      await expect.poll(() => heard).toEqual(['first'])
      await leave()
    }
  })

  it('delivers nothing to a removed listener, and everything to the others', async () => {
    const channel = uniqueName()
    const left: string[] = []
    const stayed: string[] = []
    const leave = await under().cache.subscribe(channel, (message) => left.push(message))
    const leaveToo = await under().cache.subscribe(channel, (message) => stayed.push(message))
    await publish(channel, 'one')
    await expect.poll(() => left).toEqual(['one'])
    await leave()
    await publish(channel, 'two')
    await expect.poll(() => stayed).toEqual(['one', 'two'])
    expect(left).toEqual(['one'])
    await leaveToo()
  })

  it('can be subscribed to again after the last listener has left', async () => {
    const channel = uniqueName()
    const heard: string[] = []
    await (await under().cache.subscribe(channel, () => undefined))()
    const leave = await under().cache.subscribe(channel, (message) => heard.push(message))
    await publish(channel, 'again')
    await expect.poll(() => heard).toEqual(['again'])
    await leave()
  })

  it('delivers to the others when a listener throws', async () => {
    const channel = uniqueName()
    const heard: string[] = []
    const leaveThrower = await under().cache.subscribe(channel, () => {
      throw new Error('a listener failed')
    })
    const leave = await under().cache.subscribe(channel, (message) => heard.push(message))
    await publish(channel, 'one')
    await publish(channel, 'two')
    await expect.poll(() => heard).toEqual(['one', 'two'])
    await leaveThrower()
    await leave()
  })

  it('does not call a listener before publish has returned control', async () => {
    const channel = uniqueName()
    let called = false
    const leave = await under().cache.subscribe(channel, () => {
      called = true
    })
    const since = await under().cache.time()
    const published = under().cache.publish(channel, 'x', { since, maxAgeMs: 5000 })
    expect(called).toBe(false)
    await published
    await expect.poll(() => called).toBe(true)
    await leave()
  })
}
