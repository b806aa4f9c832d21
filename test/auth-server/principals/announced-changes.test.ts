import { randomUUID } from 'node:crypto'
import { beforeEach, expect, it } from 'vitest'
import { AnnouncedChanges } from '../../../auth-server/principals/announced-changes.ts'
import type { Cache } from '../../../shared/platform/cache/cache.ts'
import { createMemoryCache } from '../../../shared/platform/cache/memory-cache.ts'
import { createUnsharedCache } from '../../../shared/platform/cache/unshared-cache.ts'
import {
  type Changes,
  feedChannel,
  maxChangesInMessage,
  seriesChannel,
} from '../../../shared/protocol/principal/change-feed.ts'
import { announceSuccession } from '../../../shared/protocol/principal/succession.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const instanceId = randomUUID()
let now = 0
const clock = { monotonic: () => now, now: () => now }
let cache: Cache
let announced: AnnouncedChanges

const read = (counter: number, of = instanceId) => announced.noteRead({ instanceId: of, counter, readAt: now })
const publish = async (channel: string, message: object) => {
  await cache.publish(channel, JSON.stringify(message), { since: await cache.time(), maxAgeMs: 1_000 })
  await new Promise(setImmediate)
}
const message = (after: number, upTo: number, changes: Changes) =>
  publish(feedChannel(instanceId), { after, upTo, ageMs: 30, keys: '', changes })
/** As an auth server announces what it cannot read. */
const part = (changes: Changes) => publish(seriesChannel(instanceId), { series: randomUUID(), part: 1, changes })
const alice = { username: 'alice', version: 11 }
const bob = { username: 'bob', version: 12 }
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ username: `user-${index}`, version: 11 + index }))

beforeEach(() => {
  now = 1_000
  cache = createMemoryCache(clock)
  announced = new AnnouncedChanges(fakeSystems({ cache, clock }))
})

it('hears what is announced after a read, until a later one', async () => {
  expect(announced.announced()).toBeUndefined()
  read(10)
  await part([alice])
  now = 1_200
  await message(10, 12, [bob])
  expect(announced.announced()).toEqual({
    instanceId,
    after: 10,
    changes: [alice, bob],
    readAt: 1_170,
    upTo: 12,
    announcedAt: 1_200,
  })
  read(11)
  expect(announced.announced()).toMatchObject({ after: 11, changes: [bob], upTo: 12, announcedAt: 1_200 })
})

it('gives the same array until more is announced', async () => {
  read(10)
  await part([alice])
  const { changes } = announced.announced() ?? expect.unreachable('it was read')
  await message(10, 10, [])
  expect(announced.announced()?.changes).toBe(changes)
})

const nothing = { readAt: Number.NEGATIVE_INFINITY, announcedAt: Number.NEGATIVE_INFINITY }

it.each<[string, () => Promise<unknown>, number]>([
  ['changes are missing', () => message(11, 12, [bob]), 11],
  ['there are too many', () => part(many(maxChangesInMessage + 1)), 11 + maxChangesInMessage],
])('is certain of nothing while %s, and again after a read of them', async (_, happen, version) => {
  read(10)
  await happen()
  expect(announced.announced()).toMatchObject(nothing)
  read(version - 1)
  expect(announced.announced()).toMatchObject(nothing)
  read(version)
  expect(announced.announced()).toMatchObject({ announcedAt: now })
})

it('is certain of nothing after a message of another form', async () => {
  read(10)
  await publish(feedChannel(instanceId), { of: 'another release' })
  read(11)
  expect(announced.announced()).toMatchObject(nothing)
})

it('is certain of nothing when it was not subscribed all the time', async () => {
  read(10)
  cache.listening = () => ({ since: now + 1, until: now + 2 })
  expect(announced.announced()).toMatchObject(nothing)
  cache.listening = () => undefined
  expect(announced.announced()).toMatchObject(nothing)
})

it('hears its own process where there is no Redis, and is certain of nothing', async () => {
  cache = createUnsharedCache(clock)
  announced = new AnnouncedChanges(fakeSystems({ cache, clock }))
  read(10)
  await part([alice])
  expect(announced.announced()).toMatchObject({ changes: [alice], ...nothing })
})

it('begins again with another instance', async () => {
  read(10)
  await part([alice])
  read(3, randomUUID())
  await part([bob])
  expect(announced.announced()).toMatchObject({ after: 3, changes: [], upTo: 3 })
})

it('tells nothing of an instance that has a successor', async () => {
  read(10)
  await announceSuccession(cache, { instanceId: randomUUID(), formers: [instanceId], number: 2 })
  announced.announced()
  await new Promise(setImmediate)
  expect(announced.announced()).toBeUndefined()
})
