/** What a deal server knows of changes that are announced in messages and in series, of which any may be lost. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createMemoryCache } from '../../../shared/platform/cache/memory-cache.ts'
import {
  type FeedMessage,
  type FeedPart,
  feedChannel,
  seriesChannel,
} from '../../../shared/protocol/principal/change-feed.ts'
import { PrincipalFeed } from '../../../verify/src/principals/principal-feed.ts'
import { campaign } from '../../support/campaign.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const usernames = ['alice', 'bob', 'carol', 'dora', 'eve']

/** The versions of all users. */
type Versions = Readonly<Record<string, number>>

/** A database of changes, and the messages of a publisher that reads it. */
class Publisher {
  versions: Versions = {}
  counter = 0
  #cursor = 0

  change(username: string): void {
    this.counter += 1
    this.versions = { ...this.versions, [username]: this.counter }
  }

  /** The changes after this number, in order, at most so many. */
  #tail(after: number, limit: number): FeedMessage['changes'] {
    return Object.entries(this.versions)
      .map(([username, version]) => ({ username, version }))
      .filter(({ version }) => version > after)
      .sort((a, b) => a.version - b.version)
      .slice(0, limit)
  }

  message(): FeedMessage {
    const after = this.#cursor
    this.#cursor = this.counter
    return { after, upTo: this.counter, ageMs: 0, keys: '', changes: this.#tail(after, 1_000) }
  }

  /** Parts of two changes each; users may change between the reads of the parts. */
  series(meanwhile: readonly string[]): { parts: FeedPart[]; gap: FeedMessage } {
    const after = this.#cursor
    const series = randomUUID()
    const parts: FeedPart[] = []
    const waiting = [...meanwhile]
    let read = after
    let changes = this.#tail(read, 2)
    while (changes.length === 2) {
      parts.push({ series, part: parts.length + 1, changes })
      read = changes[1]?.version ?? read
      const next = waiting.shift()
      if (next !== undefined) this.change(next)
      changes = this.#tail(read, 2)
    }
    const [upTo, rest] = [this.counter, { ageMs: 0, keys: '' }]
    parts.push({ series, part: parts.length + 1, changes, end: { after, upTo, ...rest } })
    this.#cursor = upTo
    return { parts, gap: { after: upTo, upTo, changes: [], ...rest } }
  }
}

async function open() {
  let now = 1_000
  const clock = { now: () => now, monotonic: () => now }
  const cache = createMemoryCache(clock)
  const instanceId = randomUUID()
  const feed = new PrincipalFeed(fakeSystems({ cache, authClient: { instanceId: async () => instanceId }, clock }))
  await feed.start()
  const send = async (channel: string, content: FeedMessage | FeedPart) => {
    now += 1
    await cache.publish(channel, JSON.stringify(content), { since: await cache.time(), maxAgeMs: 1 })
    await Promise.resolve()
  }
  return {
    feed,
    lose: () => {
      now += 1
    },
    message: (content: FeedMessage) => send(feedChannel(instanceId), content),
    part: (content: FeedPart) => send(seriesChannel(instanceId), content),
  }
}

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ change: fc.constantFrom(...usernames) }) },
  { weight: 2, arbitrary: fc.record({ lose: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      meanwhile: fc.array(fc.constantFrom(...usernames), { maxLength: 3 }),
      lost: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    }),
  },
)

const run = (losses: boolean) =>
  fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
    const publisher = new Publisher()
    const { feed, lose, message, part } = await open()
    try {
      await message(publisher.message())
      // What is loaded in an epoch is at least as new as the database when the epoch began.
      let [epoch, base] = [feed.epoch(), publisher.versions]
      const first = epoch
      /** If the feed has become fresh by what it heard last, it knows all changes of that moment. */
      const check = () => {
        if (feed.epoch() !== epoch) [epoch, base] = [feed.epoch(), publisher.versions]
        if (feed.ageMs() > 0) return
        for (const [username, version] of Object.entries(publisher.versions))
          expect(Math.max(base[username] ?? 0, feed.minVersion(username))).toBeGreaterThanOrEqual(version)
      }
      for (const one of steps) {
        if ('change' in one) publisher.change(one.change)
        else if ('lose' in one) {
          const next = publisher.message()
          if (losses && one.lose) lose()
          else await message(next)
          check()
        } else {
          const { parts, gap } = publisher.series(one.meanwhile)
          for (const [at, content] of parts.entries()) {
            if (losses && one.lost[at % 4]) lose()
            else await part(content)
            check()
          }
          await message(gap)
          check()
        }
      }
      if (!losses) expect(feed.epoch()).toBe(first)
    } finally {
      await feed.stop()
    }
  })

it('knows every change of the moment that it takes itself to be fresh at, whatever is lost', async () => {
  await fc.assert(run(true), { numRuns: campaign({ short: 200, long: 5_000 }) })
})

it('keeps its memory when nothing is lost, however many changes there are', async () => {
  await fc.assert(run(false), { numRuns: campaign({ short: 100, long: 1_000 }) })
})

it('keeps its memory when several publishers send series at the same time', async () => {
  const { feed, message, part } = await open()
  const [one, other] = [new Publisher(), new Publisher()]
  await message(one.message())
  other.message()
  const epoch = feed.epoch()
  for (const username of usernames) for (const publisher of [one, other]) publisher.change(username)
  const [first, second] = [one.series([]), other.series([])]
  for (const [at, content] of first.parts.entries()) {
    await part(content)
    const beside = second.parts[at]
    if (beside) await part(beside)
  }
  await message(first.gap)
  await message(second.gap)
  expect(feed.epoch()).toBe(epoch)
  expect(feed.minVersion('eve')).toBe(5)
  await feed.stop()
})
