import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LoggedEvent } from '../../../deal-server/events/event-log.ts'
import { createEventStreams, type EventStreams } from '../../../deal-server/events/event-streams.ts'
import { positionMark } from '../../../deal-server/events/position.ts'
import { ProblemError, Unavailable } from '../../../shared/platform/problems/errors.ts'
import { campaign } from '../../support/campaign.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { fromNowOn, fromTheBeginning, SimulatedClient } from './simulated-client.ts'
import { SimulatedLog } from './simulated-log.ts'

const clock = { now: () => Date.now(), monotonic: () => Date.now() }
/** What may wait for a client, beside a page and what every stream begins with. */
const mostBytes = 150 + 3 * 75 + 20
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

const codeOf = (error: unknown) => (error instanceof ProblemError ? error.code : error)

const leave = async (client: SimulatedClient): Promise<void> => {
  const left = client.leave()
  await vi.advanceTimersByTimeAsync(20)
  await left
}

/** One client over all its connections, with what it must have received in the end. */
interface Following {
  readonly client: SimulatedClient
  /** Of what is committed, in the order of the commits, so much is no matter of this client. */
  readonly ignored: number
  hasReconnected: boolean
}

class World {
  readonly log = new SimulatedLog()
  readonly followings: Following[] = []
  readonly streams: EventStreams
  /** Nobody can tell what clients may read. */
  isUnknown = false
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
    this.log.delay = this.delay
    const represent = ({ id }: { id: string }) => ({ id })
    // Small, so that clients fall behind and pages are full.
    const options = { pageSize: 3, maxWaitingBytes: 150, pollMs: 100, stallMs: 60_000 }
    this.streams = createEventStreams({ ...fakeSystems({ clock }), eventLog: this.log, represent }, options)
  }

  delay = async (): Promise<void> => {
    const ms = Math.floor(this.#random() * 6)
    if (ms > 1) await sleep(ms - 1)
  }

  mayRead = async (): Promise<void> => {
    await this.delay()
    if (this.isUnknown) throw new Unavailable('auth-server')
  }

  async follow(fromBeginning: boolean): Promise<void> {
    const client = new SimulatedClient()
    // The look and nothing else happens at once, so that what was there at that moment is known.
    this.log.delay = async () => undefined
    this.followings.push({ client, ignored: fromBeginning ? 0 : this.log.committed.length, hasReconnected: false })
    await client.open(this.streams, fromBeginning ? fromTheBeginning : fromNowOn, this.mayRead)
    this.log.delay = this.delay
  }

  async reconnect(following: Following): Promise<void> {
    const { client } = following
    const last = client.positionsSinceReset().at(-1)
    if (last === undefined) return
    const mark = client.lastMark()
    following.hasReconnected = true
    await leave(client)
    client.read(true)
    const opening = client.open(this.streams, { ...fromTheBeginning, after: last, mark }, this.mayRead).catch(codeOf)
    await vi.advanceTimersByTimeAsync(20)
    const isKnown = this.log.knows(last, mark)
    expect(await opening).toBe(isKnown ? true : 'outdated-cursor')
    if (!isKnown) this.followings.splice(this.followings.indexOf(following), 1)
  }

  async leave(following: Following | undefined): Promise<void> {
    if (!following) return
    this.followings.splice(this.followings.indexOf(following), 1)
    // In the middle of whatever is under way.
    void following.client.leave()
  }

  async settle(): Promise<void> {
    for (const xid of this.log.running()) this.log.commit(xid)
    for (const { client } of this.followings) client.read(true)
    await vi.advanceTimersByTimeAsync(1_000)
  }

  expectEverythingOnce(): void {
    const inOrder = this.log.inOrder()
    for (const { client, ignored, hasReconnected } of this.followings) {
      if (!client.isOpen()) {
        // Two failovers, one after the other, can leave nothing by which the logs could be compared.
        expect(client.lastMark()).not.toBe(positionMark(this.log.history()))
        continue
      }
      const reset = client.resets().at(-1)
      if (reset !== undefined) {
        if (ignored === 0) expect(client.believed()).toEqual(inOrder.map(({ id }) => id))
        expect(client.positionsSinceReset()).toEqual(inOrder.slice(reset).map(({ position }) => position))
        continue
      }
      const received = client.numbers()
      const past = new Set(this.log.committed.slice(0, ignored))
      // A position does not say since when its client is interested: what was held back all the time may come after a
      // cut.
      const mayCome = ({ id }: LoggedEvent) =>
        !past.has(Number(id)) || (hasReconnected && received.includes(Number(id)))
      const expected = inOrder.filter(mayCome)
      expect(received).toEqual(expected.map(({ id }) => Number(id)))
      expect(client.positions()).toEqual(expected.map(({ position }) => position))
    }
  }
}

const step = fc.oneof(
  { weight: 3, arbitrary: fc.constant(['begin'] as const) },
  { weight: 6, arbitrary: fc.tuple(fc.constant('write' as const), fc.nat()) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('commit' as const), fc.nat()) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('roll back' as const), fc.nat()) },
  { weight: 3, arbitrary: fc.constant(['wakeUp'] as const) },
  { weight: 6, arbitrary: fc.tuple(fc.constant('pass' as const), fc.nat(12)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('follow' as const), fc.nat(1)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('leave' as const), fc.nat()) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('reconnect' as const), fc.nat()) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('read' as const), fc.nat()) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('outage' as const), fc.nat(1)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('unknown' as const), fc.nat(1)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('failover' as const), fc.nat(3)) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)]

async function take(world: World, [name, n = 0]: Step): Promise<void> {
  const { log, streams, followings } = world
  const xid = pick(log.running(), n) ?? 0
  const following = pick(followings, n)
  if (name === 'begin') log.begin()
  else if (name === 'write') log.write(xid || log.begin())
  else if (name === 'commit') log.commit(xid)
  else if (name === 'roll back') log.rollBack(xid)
  else if (name === 'wakeUp') streams.wakeUp()
  else if (name === 'pass') await vi.advanceTimersByTimeAsync(n)
  else if (name === 'follow') await world.follow(n === 0)
  else if (name === 'failover') log.failOver(n)
  else if (name === 'outage') log.isAway = n === 0 && followings.length > 0 && !log.isAway
  else if (name === 'unknown') world.isUnknown = n === 0
  else if (name === 'read') following?.client.read(n % 3 > 0)
  else if (name === 'leave') await world.leave(following)
  else if (following && !log.isAway && !world.isUnknown) await world.reconnect(following)
}

describe('streams over one reader', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('give each client every event once, in order, for any sequence of commits, cuts, slow clients and failovers', async () => {
    const runs = fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 80, size: 'max' }),
      fc.array(fc.nat(99), { minLength: 50, maxLength: 50, size: 'max' }),
      async (steps, randoms) => {
        let drawn = 0
        const world = new World(() => (randoms[drawn++ % randoms.length] ?? 0) / 100)
        await world.follow(true)
        for (const one of steps) {
          if (one[0] === 'follow' && (world.log.isAway || world.isUnknown)) continue
          await take(world, one)
          for (const { client } of world.followings) expect(client.waitingBytes()).toBeLessThan(mostBytes)
        }
        world.log.isAway = false
        world.isUnknown = false
        await world.settle()
        world.expectEverythingOnce()
        for (const { client } of world.followings) await leave(client)
      },
    )
    await fc.assert(runs, { numRuns: campaign({ short: 100, long: 500 }), endOnFailure: true })
  })
})
