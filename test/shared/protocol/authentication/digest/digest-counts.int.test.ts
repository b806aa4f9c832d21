import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { digestCounts } from '../../../../../auth-server/store/schema.ts'
import type { Cache } from '../../../../../shared/platform/cache/cache.ts'
import { createMemoryCache } from '../../../../../shared/platform/cache/memory-cache.ts'
import { systemClock } from '../../../../../shared/platform/clock.ts'
import { createHousekeeping } from '../../../../../shared/platform/database/housekeeping.ts'
import { readPresentHistory } from '../../../../../shared/platform/history/history.ts'
import { Unavailable } from '../../../../../shared/platform/problems/errors.ts'
import { createDigestCountExpiry } from '../../../../../shared/protocol/authentication/credential-expiry.ts'
import { createDigestCounts, rememberedMs } from '../../../../../shared/protocol/authentication/digest/digest-counts.ts'
import { type DigestNonce, nonceMark } from '../../../../../shared/protocol/authentication/digest/digest-nonce.ts'
import { campaign } from '../../../../support/campaign.ts'
import { eventually } from '../../../../support/eventually.ts'
import { redisServerInstalled, startRedisServer } from '../../../../support/processes/stores/redis-server.ts'
import { databaseOfSuite, describeDatabases } from '../../../../support/stores/own-database.ts'
import { openTestCache } from '../../../../support/stores/redis-cache.ts'

/** The history of the database under test. */
let history = ''
const observed = { observe: () => undefined }

const newNonce = (issuedAt = Date.now()): DigestNonce => ({
  text: randomUUID(),
  issuedAt,
  expiresAt: issuedAt + 300_000,
  mark: nonceMark(history),
})

/** A cache that can be away, lose what it holds, and lose answers. */
function createFrailCache() {
  let inner = createMemoryCache(systemClock)
  const state = { isAway: false, losesAnswers: false, calls: 0 }
  const call = async <Result>(work: (cache: Cache) => Promise<Result>): Promise<Result> => {
    state.calls += 1
    if (state.isAway) throw new Unavailable('cache')
    const result = await work(inner)
    if (state.losesAnswers) throw new Unavailable('cache')
    return result
  }
  return {
    state,
    lose: () => {
      inner = createMemoryCache(systemClock)
    },
    cache: {
      useNumber: (key: string, use: Parameters<Cache['useNumber']>[1]) => call((cache) => cache.useNumber(key, use)),
      startNumbers: (key: string, use: Parameters<Cache['useNumber']>[1]) =>
        call((cache) => cache.startNumbers(key, use)),
    },
  }
}

describeDatabases('counts of Digest nonces', (open) => {
  const { database } = databaseOfSuite(open)
  beforeAll(async () => {
    history = await readPresentHistory(database)
  })

  const setUp = (counted = database) => {
    const frail = createFrailCache()
    const counts = createDigestCounts({
      cache: frail.cache,
      database: counted,
      schema: 'auth',
      history: observed,
    })
    return { ...frail, counts, nonce: newNonce() }
  }

  it('are not known of a nonce of another history, which may have lost the counts that were used', async () => {
    const { cache, state } = createFrailCache()
    const known: string[] = []
    const observing = { observe: (found: string) => void known.push(found) }
    const options = { cache, database, schema: 'auth', history: observing } as const
    const counts = createDigestCounts(options)
    const former = { ...newNonce(), mark: nonceMark('another one') }
    expect(await counts.use(former, 1)).toBe('stale')
    state.isAway = true
    expect(await counts.use(former, 1)).toBe('stale')
    expect(known).toEqual([history, history])
    expect(await counts.use(newNonce(), 1)).toBe('used')
  })

  it('are good once, in the cache alone from the second on', async () => {
    const write = vi.fn(database.write)
    const { counts, nonce } = setUp(Object.assign(Object.create(database), { write }))
    expect(await counts.use(nonce, 1)).toBe('used')
    expect(write).toHaveBeenCalledTimes(1)
    expect([await counts.use(nonce, 1), await counts.use(nonce, 2), await counts.use(nonce, 2)]).toEqual([
      'refused',
      'used',
      'refused',
    ])
    expect(write).toHaveBeenCalledTimes(1)
  })

  it('are stale once the cache has lost them, for good', async () => {
    const { counts, nonce, lose, state } = setUp()
    expect(await counts.use(nonce, 1)).toBe('used')
    lose()
    expect([await counts.use(nonce, 1), await counts.use(nonce, 2)]).toEqual(['stale', 'stale'])
    state.isAway = true
    expect([await counts.use(nonce, 1), await counts.use(nonce, 3)]).toEqual(['stale', 'stale'])
  })

  it('are kept in the database where the cache was away at the first one, also when it is back', async () => {
    const { counts, nonce, state } = setUp()
    state.isAway = true
    expect([await counts.use(nonce, 2), await counts.use(nonce, 2)]).toEqual(['used', 'refused'])
    state.isAway = false
    expect([await counts.use(nonce, 2), await counts.use(nonce, 1), await counts.use(nonce, 1)]).toEqual([
      'refused',
      'used',
      'refused',
    ])
  })

  it('may be far ahead of the highest one but not far behind it, in the database too', async () => {
    for (const isAway of [false, true]) {
      const { counts, nonce, state } = setUp()
      state.isAway = isAway
      const outcomes: string[] = []
      for (const number of [1, 66, 65, 65, 2, 3, 200, 136, 137, 66, 0x7fffffff, 0x7fffffff]) {
        outcomes.push(await counts.use(nonce, number))
      }
      expect(outcomes).toEqual([
        'used',
        'used',
        'used',
        'refused',
        'refused',
        'used',
        'used',
        'refused',
        'used',
        'refused',
        'used',
        'refused',
      ])
      // No client gets so far with one nonce.
      expect(await counts.use(nonce, 0xffffffff)).toBe('stale')
      expect(await counts.use(newNonce(), 65)).toBe('stale')
      expect(await counts.use(newNonce(), 64)).toBe('used')
    }
  })

  it('are used once by many at the same time', async () => {
    for (const isAway of [false, true]) {
      const { counts, nonce, state } = setUp()
      state.isAway = isAway
      const outcomes = await Promise.all(Array.from({ length: 30 }, (_, at) => counts.use(nonce, 1 + (at % 3))))
      const used = outcomes.filter((outcome) => outcome === 'used').length
      expect(used).toBeGreaterThan(0)
      expect(used).toBeLessThanOrEqual(3)
    }
  })

  it('are never used twice, whatever is away or lost in whatever order, by one server or two', async () => {
    const near = fc.integer({ min: 1, max: 70 })
    const count = fc.oneof({ weight: 9, arbitrary: near }, fc.integer({ min: 1, max: 0x8000_0000 }))
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ use: count, by: fc.nat(1), nonce: fc.nat(1) }) },
      { weight: 1, arbitrary: fc.constantFrom('away', 'back', 'lose', 'answers lost') },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const { cache, state, lose } = createFrailCache()
        const servers = [0, 1].map(() => createDigestCounts({ cache, database, schema: 'auth', history: observed }))
        const nonces = [newNonce(), newNonce()]
        const used = new Set<string>()
        for (const current of steps) {
          if (current === 'lose') lose()
          else if (typeof current === 'string') {
            state.isAway = current === 'away'
            state.losesAnswers = current === 'answers lost'
          } else {
            const outcome = await servers[current.by]?.use(nonces[current.nonce] as DigestNonce, current.use)
            if (outcome !== 'used') continue
            expect(used).not.toContain(`${current.nonce}/${current.use}`)
            used.add(`${current.nonce}/${current.use}`)
          }
        }
      }),
      { numRuns: campaign({ short: 15, long: 100 }) },
    )
  })

  it('are forgotten by housekeeping when no clock takes the nonce for good any more', async () => {
    const { counts } = setUp()
    const [old, young] = [newNonce(Date.now() - 300_000 - rememberedMs - 1000), newNonce()]
    for (const nonce of [old, young]) expect(await counts.use(nonce, 1)).toBe('used')
    const log = { info: () => undefined, warn: () => undefined }
    const jobs = [createDigestCountExpiry(digestCounts)]
    expect(await createHousekeeping({ database, clock: systemClock, log, name: 'test', jobs }).runOnce()).toBe(true)
    const rows = await database.query<{ nonce: string }>('select nonce from auth.digest_counts')
    expect(rows.map(({ nonce }) => nonce)).toContain(young.text)
    expect(rows.map(({ nonce }) => nonce)).not.toContain(old.text)
  })

  describe.skipIf(!redisServerInstalled || process.env.TEST_REDIS_URL === undefined)(
    'over a Redis server (needs TEST_REDIS_URL and redis-server)',
    () => {
      it('are not used again after a restart from an old dump, a flush, or an eviction', async () => {
        const redis = await startRedisServer()
        const cache = openTestCache(redis.url, { commandTimeoutMs: 5000 })
        try {
          const counts = createDigestCounts({ cache, database, schema: 'auth', history: observed })
          await eventually(() => cache.ping())
          const [dumped, flushed] = [newNonce(), newNonce()]
          expect(await counts.use(dumped, 1)).toBe('used')
          await redis.command('SAVE')
          expect(await counts.use(dumped, 2)).toBe('used')
          await redis.kill()
          expect([await counts.use(dumped, 2), await counts.use(dumped, 3)]).toEqual(['stale', 'stale'])
          await redis.start()
          await eventually(() => cache.ping())
          expect([await counts.use(dumped, 2), await counts.use(dumped, 3)]).toEqual(['stale', 'stale'])
          expect(await counts.use(flushed, 1)).toBe('used')
          await redis.command('FLUSHALL')
          expect([await counts.use(flushed, 1), await counts.use(flushed, 2)]).toEqual(['stale', 'stale'])
        } finally {
          await cache.close()
          await redis.dispose()
        }
      })
    },
  )
})
