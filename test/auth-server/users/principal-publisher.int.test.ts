import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { changePrincipal } from '../../../auth-server/principals/principal-change.ts'
import { PrincipalPublisher } from '../../../auth-server/principals/principal-publisher.ts'
import { publishedVersionKey } from '../../../auth-server/principals/publish-principals.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import {
  type FeedMessage,
  type FeedPart,
  feedMessageSchema,
  feedPartSchema,
} from '../../../shared/protocol/principal/change-feed.ts'
import { parseStoredPrincipal, principalKey } from '../../../shared/protocol/principal/record.ts'
import { campaign } from '../../support/campaign.ts'
import { eventually } from '../../support/eventually.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { createAuthCore, goodPassword } from '../support/auth-core.ts'
import { createUnreliableCache, type Fate, type UnreliableCache } from '../support/unreliable-cache.ts'

const names = ['pub-a', 'pub-b', 'pub-c']

describeDatabases('the principal publisher', (open) => {
  const { database } = databaseOfSuite(open)
  let instanceId: string
  let cache: UnreliableCache
  let messages: FeedMessage[] = []
  let parts: FeedPart[] = []
  let heard: (message: FeedMessage) => void = () => undefined
  const warnings: string[] = []
  const log = { info: () => undefined, warn: (...entry: unknown[]) => void warnings.push(String(entry[1])) }

  beforeAll(async () => {
    const core = createAuthCore({ database, clock: systemClock })
    for (const username of names) await core.users.create({ username, password: goodPassword })
    instanceId = await core.publisher.instanceId()
  })
  beforeEach(async () => {
    messages = []
    parts = []
    warnings.length = 0
    heard = () => undefined
    const onMessage = (text: string) => {
      const message = feedMessageSchema.parse(JSON.parse(text))
      messages.push(message)
      heard(message)
    }
    const onPart = (text: string) => void parts.push(feedPartSchema.parse(JSON.parse(text)))
    cache = await createUnreliableCache(instanceId, onMessage, onPart)
  })

  const newPublisher = (reads: Pick<Database, 'query'> = database) => {
    const database = reads as Database
    return new PrincipalPublisher({ database, cache, clock: systemClock, log, publishedKeys: () => 'the same' })
  }
  const change = async (username: string) =>
    (await changePrincipal(database, username, async () => ({ result: undefined, change: {} }))).principalVersion
  const cached = async (username: string) =>
    parseStoredPrincipal((await cache.reliable.getVersioned(principalKey(instanceId, username)))?.value ?? '')
  const markerVersion = async () => (await cache.reliable.getVersioned(publishedVersionKey(instanceId)))?.version

  it('has the record in the cache and announced when a change is settled', async () => {
    const publisher = newPublisher()
    await publisher.publish()
    const number = await change('pub-a')
    await publisher.waitUntilPublished(number, [])
    expect(await cached('pub-a')).toMatchObject({ version: number })
    expect(await markerVersion()).toBe(number)
    expect(messages.at(-1)).toMatchObject({ upTo: number, changes: [{ username: 'pub-a', version: number }] })
    expect(publisher.health()).toMatchObject({ upTo: number, problem: undefined })
  })

  it('settles a change when the streams of this server have told it, or a second later', async () => {
    const publisher = newPublisher()
    await publisher.publish()
    let tell: () => void = () => undefined
    publisher.onChange(() => new Promise<void>((resolve) => (tell = resolve)))
    const settled: string[] = []
    const waiting = publisher.waitUntilPublished(await change('pub-a'), []).then(() => settled.push('told'))
    await eventually(() => expect(publisher.health().upTo).toBeGreaterThan(0))
    await sleep(100)
    expect(settled).toEqual([])
    tell()
    await waiting
    const startedAt = performance.now()
    await publisher.waitUntilPublished(await change('pub-a'), [])
    expect(performance.now() - startedAt).toBeGreaterThan(990)
  })

  it('announces nothing while a record was not put, because its node has begun another run', async () => {
    const publisher = newPublisher()
    await publisher.publish()
    const before = await markerVersion()
    const { putVersioned } = cache
    const key = principalKey(instanceId, 'pub-a')
    cache.putVersioned = async (...put) => put[0] !== key && putVersioned(...put)
    const number = await change('pub-a')
    expect(await publisher.publish()).toBe(false)
    expect([await markerVersion(), messages.at(-1)?.upTo]).toEqual([before, before])
    cache.putVersioned = putVersioned
    expect(await publisher.publish()).toBe(true)
    expect(messages.at(-1)).toMatchObject({ after: before, upTo: number, changes: [{ username: 'pub-a' }] })
  })

  it('chains its messages, and beats when nothing changes', async () => {
    const publisher = newPublisher()
    publisher.start()
    for (const username of [...names, ...names]) await publisher.waitUntilPublished(await change(username), [])
    await expect.poll(() => messages.length).toBeGreaterThanOrEqual(8)
    await publisher.stop()
    const count = messages.length
    for (const [at, message] of messages.entries()) if (at > 0) expect(message.after).toBe(messages[at - 1]?.upTo)
    await sleep(300)
    expect(messages).toHaveLength(count)
  })

  it('publishes what another instance changed and then died', async () => {
    const publisher = newPublisher()
    await publisher.publish()
    const number = await change('pub-b')
    publisher.start()
    await expect.poll(() => cached('pub-b')).toMatchObject({ version: number })
    await publisher.stop()
  })

  it('answers a second later when the cache cannot be reached, and catches up when it is back', async () => {
    const publisher = newPublisher()
    await publisher.publish()
    cache.fates = Array<Fate>(10_000).fill('lost')
    const number = await change('pub-a')
    const began = performance.now()
    await publisher.waitUntilPublished(number, [])
    expect(performance.now() - began).toBeGreaterThan(950)
    expect(performance.now() - began).toBeLessThan(5_000)
    expect(publisher.health().problem).toBe('cache is not available')
    expect((await publisher.fill('pub-a')).record).toMatchObject({ version: number })
    expect(warnings).toHaveLength(1)
    cache.fates = []
    await publisher.publish()
    expect(await cached('pub-a')).toMatchObject({ version: number })
    expect(publisher.health().problem).toBeUndefined()
  })

  it('puts a record again on reload, and announces it with its version', async () => {
    const publisher = newPublisher()
    await publisher.publish()
    await publisher.reloaded('PUB-C')
    const record = await cached('pub-c')
    expect(messages.at(-1)?.changes).toEqual([{ username: 'pub-c', version: record?.version }])
    await publisher.publish()
    expect(messages.at(-1)?.changes).toEqual([])
  })

  it('knows whether the cache has exactly the record that was read', async () => {
    const publisher = newPublisher()
    const read = await publisher.fill('pub-a')
    expect(await publisher.isCached(read)).toBe(false)
    await publisher.publish()
    expect(await publisher.isCached(await publisher.fill('pub-a'))).toBe(true)
    const other = read.record && { ...read.record, directRights: ['deal.hold'] }
    expect(await publisher.isCached({ ...read, record: other })).toBe(false)
    expect(await publisher.isCached({ ...read, instanceId: 'another' })).toBe(false)
    expect(await publisher.isCached({ ...read, record: undefined })).toBe(false)
    cache.fates = ['lost']
    expect(await publisher.isCached(read)).toBe(false)
  })

  it('fills the cache for the next reader, and never before there is a marker', async () => {
    const publisher = newPublisher()
    expect((await publisher.fill('pub-a')).record).toMatchObject({ username: 'pub-a' })
    expect(await cached('pub-a')).toBeUndefined()
    await publisher.publish()
    expect((await publisher.fill('PUB-A')).record).toMatchObject({ username: 'pub-a' })
    expect(await cached('pub-a')).toMatchObject({ username: 'pub-a' })
    expect(await publisher.fill('nobody')).toEqual({ instanceId, record: undefined })
  })

  it('never leaves an outdated record in a cache that was restarted meanwhile', async () => {
    for (const work of ['fill', 'reloaded'] as const) {
      const outdated = newPublisher(
        delayedReads(async () => {
          await cache.restart()
          const number = await change('pub-a')
          expect(await newPublisher().publish()).toBe(true)
          expect(await markerVersion()).toBe(number)
        }),
      )
      await newPublisher().publish()
      await outdated[work]('pub-a')
      const record = await cached('pub-a')
      if (record) expect(record.version).toBe(await markerVersion())
    }
  })

  it.each(['works', 'is away', 'is away until a record was asked for'])(
    'notices that the database became another instance, and forgets the former one: the cache %s',
    async (state) => {
      const publisher = newPublisher()
      await publisher.publish()
      let noticed = 0
      publisher.onOtherInstance(() => {
        noticed += 1
      })
      await database.query('update auth.principal_change_counter set installation_id = gen_random_uuid() returning 1')
      try {
        if (state === 'works') expect(await publisher.publish()).toBe(false)
        else if (state === 'is away') {
          cache.fates = ['lost']
          expect(await publisher.publish()).toBe(false)
        } else expect((await publisher.fill('pub-a')).instanceId).not.toBe(instanceId)
        expect(noticed).toBe(1)
        expect(publisher.health().upTo).toBeUndefined()
        const next = await publisher.instanceId()
        expect(next).not.toBe(instanceId)
        expect(await publisher.publish()).toBe(true)
        expect(await cache.reliable.getVersioned(publishedVersionKey(next))).toBeDefined()
      } finally {
        instanceId = await newPublisher().instanceId()
      }
    },
  )

  it('publishes nothing while the database is older than the cache', async () => {
    const number = await change('pub-a')
    await cache.reliable.putVersioned(
      publishedVersionKey(instanceId),
      { version: number + 100, value: '' },
      { ttlSeconds: 60 },
    )
    const publisher = newPublisher()
    expect(await publisher.publish()).toBe(false)
    expect(messages).toEqual([])
    expect(publisher.health().problem).toContain('older than the cache')
  })

  /** Creates this many users at once, each with a change of its own. */
  const createMany = async (count: number, prefix: string) => {
    await database.query(
      `insert into auth.principals (username_folded, username, user_id, change_number)
      select $1 || n, $1 || n, gen_random_uuid(), c.value + n
      from generate_series(1, $2::int) n, auth.principal_change_counter c`,
      [prefix, count],
    )
    await database.query('update auth.principal_change_counter set value = value + $1::int', [count])
  }

  it('announces more changes than a message holds in parts, and tells those who missed one that they did', async () => {
    const publisher = newPublisher()
    await publisher.publish()
    const after = publisher.health().upTo ?? 0
    await createMany(2500, 'many-')
    expect(await publisher.publish()).toBe(true)
    const upTo = publisher.health().upTo
    expect(parts.map(({ part, changes }) => [part, changes.length])).toEqual([
      [1, 1000],
      [2, 1000],
      [3, 500],
    ])
    expect(new Set(parts.map(({ series }) => series)).size).toBe(1)
    expect(parts.map(({ end }) => end)).toEqual([undefined, undefined, expect.objectContaining({ after, upTo })])
    const versions = parts.flatMap(({ changes }) => changes.map(({ version }) => version))
    expect(versions).toEqual(Array.from({ length: 2500 }, (_, index) => after + 1 + index))
    expect(messages.at(-1)).toMatchObject({ after: upTo, upTo, changes: [] })
    expect(await cached('many-1')).toMatchObject({ enabled: false })
    expect(await cached('many-2500')).toMatchObject({ version: upTo })
    expect(await markerVersion()).toBe(upTo)
  })

  it('does not announce an endless list: beyond 20 parts it only says that there was more', async () => {
    const publisher = newPublisher()
    await publisher.publish()
    await createMany(20_500, 'more-')
    // A busy machine may take so long for so many that the message is too old to be sent.
    await eventually(async () => {
      parts = []
      expect(await publisher.publish()).toBe(true)
    })
    const upTo = publisher.health().upTo
    expect(parts).toHaveLength(20)
    expect(parts.every(({ end }) => end === undefined)).toBe(true)
    expect(messages.at(-1)).toMatchObject({ after: upTo, upTo, changes: [] })
    expect(await cached('more-20500')).toMatchObject({ version: upTo })
  })

  it('never claims what the cache does not hold, whatever is lost and in whatever order', {
    timeout: 240_000,
  }, async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('change' as const), name: fc.constantFrom(...names) }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('flush' as const), by: fc.nat(1) }) },
      {
        weight: 3,
        arbitrary: fc.record({ do: fc.constant('fill' as const), by: fc.nat(1), name: fc.constantFrom(...names) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant('reload' as const), by: fc.nat(1), name: fc.constantFrom(...names) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart-cache' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart-publisher' as const), by: fc.nat(1) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('newcomer' as const) }) },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant('lose' as const),
          fates: fc.array(fc.constantFrom<Fate>('works', 'works', 'lost', 'answer-lost'), { maxLength: 6 }),
        }),
      },
    )
    const rounds = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 12 })
    type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

    const property = fc.asyncProperty(fc.scheduler(), rounds, async (scheduler, all) => {
      await cache.restart()
      messages = []
      cache.beforeCall = () => scheduler.schedule(Promise.resolve())
      const delayed = delayedReads(() => scheduler.schedule(Promise.resolve()))
      const publishers = [newPublisher(delayed), newPublisher(delayed)]
      const history: { username: string; number: number }[] = []
      const checks: Promise<void>[] = []
      heard = (message) => void checks.push(checkMessage(message, history))

      const run = async (one: Step): Promise<unknown> => {
        const publisher = publishers['by' in one ? one.by : 0] as PrincipalPublisher
        switch (one.do) {
          case 'change':
            return history.push({ username: one.name, number: await change(one.name) })
          case 'flush':
            return publisher.publish()
          case 'fill':
            return publisher.fill(one.name)
          case 'reload':
            return publisher.reloaded(one.name)
          case 'restart-cache':
            return cache.restart()
          case 'restart-publisher':
            publishers[one.by] = newPublisher(delayed)
            return undefined
          case 'newcomer':
            return newPublisher(delayed).publish()
          case 'lose':
            cache.fates.push(...one.fates)
            return undefined
        }
      }
      for (const round of all) await scheduler.waitFor(Promise.all(round.map(run)))
      cache.fates = []
      for (const publisher of publishers) expect(await scheduler.waitFor(publisher.publish())).toBe(true)
      await checkClaim(Math.max(...history.map(({ number }) => number), 0), history)
      await Promise.all(checks)
      expect(messages.at(-1)?.upTo).toBeGreaterThanOrEqual(history.at(-1)?.number ?? 0)
    })
    await fc.assert(property, { numRuns: campaign({ short: 8, long: 200 }) })
  })

  /** What is read has been true, but may have changed by the time it arrives. */
  const delayedReads = (delay: () => Promise<unknown>): Pick<Database, 'query'> => ({
    query: async (text, parameters) => {
      const rows = await database.query<never>(text, parameters)
      await delay()
      return rows
    },
  })

  /** The message names every change it spans, and what it says of the cache is true. */
  async function checkMessage(message: FeedMessage, history: readonly { username: string; number: number }[]) {
    for (const { username, number } of history) {
      if (number <= message.after || number > message.upTo) continue
      const announced = message.changes.find((one) => one.username === username)
      expect(announced?.version).toBeGreaterThanOrEqual(number)
    }
    await checkClaim(message.upTo, history)
  }

  /** In the cache stands no record that is older than a change up to `upTo`. */
  async function checkClaim(upTo: number, history: readonly { username: string; number: number }[]): Promise<void> {
    const due = history.filter(({ number }) => number <= upTo)
    for (const { username, number } of due) {
      const record = await cached(username)
      if (record) expect(record.version).toBeGreaterThanOrEqual(number)
    }
  }
})
