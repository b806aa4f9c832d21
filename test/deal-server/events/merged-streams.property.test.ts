/** Streams over several logs: clients that change servers, logs that are away, and logs that lose commits. */
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { GivenPosition } from '../../../deal-server/events/event-log.ts'
import { createEventStreams, type EventStreams } from '../../../deal-server/events/event-streams.ts'
import { parseFeedPosition } from '../../../deal-server/events/feed-position.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { campaign } from '../../support/campaign.ts'
import { at, fromTheBeginning, SimulatedClient } from './simulated-client.ts'
import { SimulatedLog } from './simulated-log.ts'

const clock = { now: () => Date.now(), monotonic: () => Date.now() }
const logger = { warn: () => undefined, debug: () => undefined }
const count = 2
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Lets time pass until it is done. */
async function inTime<Result>(promise: Promise<Result>): Promise<Result> {
  let isDone = false
  const done = promise.finally(() => {
    isDone = true
  })
  for (let ms = 0; !isDone && ms < 2_000; ms += 5) await vi.advanceTimersByTimeAsync(5)
  expect(isDone).toBe(true)
  return done
}

/** An event or a reset as the client got it. */
interface Told {
  readonly id: readonly GivenPosition[]
  readonly type: string
  readonly data: { readonly log?: number; readonly position: string }
}

/** One client over all its connections. */
class Follower {
  readonly #before: Told[] = []
  client = new SimulatedClient()
  isConnected = false

  told(): Told[] {
    const blocks = [...this.client.received.matchAll(/^id: (.+)\nevent: (.+)\ndata: (.+)$/gm)]
    const now = blocks.map(([, id = '', type = '', data = '']): Told => {
      const parsed = JSON.parse(data) as Told['data']
      expect(parsed.position).toBe(id)
      return { id: parseFeedPosition(id) ?? [], type, data: parsed }
    })
    return [...this.#before, ...now]
  }

  get position(): readonly GivenPosition[] {
    return this.told().at(-1)?.id ?? at(0)
  }

  /** The positions of each log that the client takes for true. */
  believed(): number[][] {
    const believed: number[][] = Array.from({ length: count }, () => [])
    for (const { id, type, data } of this.told()) {
      if (type !== 'reset') believed[data.log ?? 0]?.push(id[data.log ?? 0]?.position ?? 0)
      else for (const [log, list] of believed.entries()) list.splice(list.indexOf(id[log]?.position ?? 0) + 1)
    }
    return believed
  }

  renew(): void {
    this.#before.push(...this.told().slice(this.#before.length))
    this.client = new SimulatedClient()
  }
}

class World {
  readonly logs = Array.from({ length: count }, () => new SimulatedLog())
  readonly servers: readonly EventStreams[]
  follower: Follower | undefined = new Follower()
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
    const { logs } = this
    for (const log of logs) log.delay = this.delay
    const options = { pageSize: 3, maxWaitingBytes: 300, pollMs: 100, stallMs: 60_000 }
    this.servers = [0, 1].map(() => {
      const logOf = (dealId: string) => Number(dealId)
      const represent = ({ dealId }: { dealId: string }, position?: string) => ({ log: Number(dealId), position })
      return createEventStreams({ logs, logOf, represent, clock, logger }, options)
    })
  }

  delay = async (): Promise<void> => {
    const ms = Math.floor(this.#random() * 6)
    if (ms > 1) await sleep(ms - 1)
  }

  happen(log: number, n: number): void {
    const one = this.logs[log]
    const xid = one?.begin() ?? 0
    for (let index = 0; index <= n % 3; index += 1) one?.write(xid, String(log))
    one?.commit(xid)
    for (const server of this.servers) server.wakeUp(n % 4 > 0 ? [log] : undefined)
  }

  /** Leaves, and goes on at a server after the last position. */
  async connect(server: number): Promise<void> {
    const { follower } = this
    if (!follower) return
    await inTime(follower.client.leave())
    const after = follower.position
    follower.renew()
    const isKnown = (index: number) => {
      const { position = 0, mark } = after.length === 1 ? { position: 0 } : (after[index] ?? {})
      return position === 0 || this.logs[index]?.knows(position, mark) === true
    }
    const streams = this.servers[server] as EventStreams
    const opening = follower.client.open(streams, { ...fromTheBeginning, after }, this.delay).catch((error) => error)
    const outcome = await inTime(opening)
    follower.isConnected = outcome === true
    if (outcome === true) return
    // Only a log that is away, or that has lost the position, can be in the way.
    const isLost = this.logs.some((log, index) => !log.isAway && !isKnown(index))
    const isAllAway = this.logs.every(({ isAway }) => isAway)
    expect(isLost || isAllAway).toBe(true)
    if (outcome instanceof ProblemError) expect(outcome.code).toBe('outdated-cursor')
    if (isLost) this.follower = undefined
  }

  isFollowed(): boolean {
    return this.follower?.isConnected === true && this.follower.client.isOpen()
  }

  async settle(): Promise<void> {
    for (const log of this.logs) log.isAway = false
    this.follower?.client.read(true)
    await vi.advanceTimersByTimeAsync(1_500)
    if (!this.isFollowed()) await this.connect(0)
    await vi.advanceTimersByTimeAsync(1_500)
  }

  expectEverythingOnce(): void {
    const { follower } = this
    if (!follower || !this.isFollowed()) return
    const inOrder = this.logs.map((log) => log.inOrder().map(({ position }) => position))
    expect(follower.believed()).toEqual(inOrder)
  }
}

const step = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constant('happen' as const), fc.nat(19)) },
  { weight: 6, arbitrary: fc.tuple(fc.constant('pass' as const), fc.nat(12)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('connect' as const), fc.nat(1)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('read' as const), fc.nat(3)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('outage' as const), fc.nat(count - 1)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('failover' as const), fc.nat(7)) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

async function take(world: World, [name, n]: Step): Promise<void> {
  const log = world.logs[n % count]
  if (name === 'happen') world.happen(n % count, n)
  else if (name === 'pass') await vi.advanceTimersByTimeAsync(n)
  else if (name === 'connect') await world.connect(n)
  else if (name === 'read') world.follower?.client.read(n > 0)
  else if (name === 'failover') log?.failOver(n >> 1)
  else if (log) log.isAway = !log.isAway
}

describe('streams over several logs', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('give a client every event of each log once, in the order of the log, whatever servers it asks', async () => {
    let followed = 0
    const runs = fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
      fc.array(fc.nat(99), { minLength: 50, maxLength: 50, size: 'max' }),
      async (steps, randoms) => {
        let drawn = 0
        const world = new World(() => (randoms[drawn++ % randoms.length] ?? 0) / 100)
        await world.connect(0)
        for (const one of steps) await take(world, one)
        await world.settle()
        world.expectEverythingOnce()
        if (world.isFollowed()) followed += 1
        await inTime(world.follower?.client.leave() ?? Promise.resolve())
      },
    )
    const numRuns = campaign({ short: 40, long: 2_000 })
    await fc.assert(runs, { numRuns, endOnFailure: true })
    expect(followed).toBeGreaterThan(numRuns / 2)
  })
})
