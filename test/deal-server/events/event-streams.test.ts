import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createEventStreams, type EventStreams } from '../../../deal-server/events/event-streams.ts'
import { positionMark } from '../../../deal-server/events/position.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { fromNowOn, fromTheBeginning, SimulatedClient } from './simulated-client.ts'
import { SimulatedLog } from './simulated-log.ts'

const systems = fakeSystems({ clock: { now: () => Date.now(), monotonic: () => Date.now() } })
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

let log: SimulatedLog
let streams: EventStreams

/** A transaction of one event; gives the event. */
function happen(dealId?: string): number {
  const xid = log.begin()
  const event = log.write(xid, dealId)
  log.commit(xid)
  streams.wakeUp()
  return event
}

async function follow(request = fromTheBeginning, mayRead?: () => Promise<void>): Promise<SimulatedClient> {
  const client = new SimulatedClient()
  expect(await client.open(streams, request, mayRead)).toBe(true)
  await pass(10)
  return client
}

const commentsIn = ({ received }: SimulatedClient) => received.split('\n\n').filter((block) => block === ':').length

describe('event streams', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
    log = new SimulatedLog()
    streams = createEventStreams({
      ...systems,
      eventLog: log,
      represent: ({ id }) => ({ id: Number(id), text: 'a\nb\r' }),
    })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('write one event as id, type and one line of data', async () => {
    const client = await follow()
    happen()
    await pass(10)
    const id = `1-${positionMark(log.history())}`
    const event = `id: ${id}\nevent: deal.held\ndata: {"id":1,"text":"a\\nb\\r"}\n\n`
    expect(client.received).toBe(`retry: 1000\n\n${event}`)
  })

  it('do not read the log without a stream, and read it at an interval with one', async () => {
    await pass(60_000)
    expect(log.reads).toBe(0)
    const client = await follow()
    const before = log.reads
    await pass(10_000)
    expect(log.reads - before).toBe(10)
    await client.leave()
    const after = log.reads
    happen()
    await pass(60_000)
    expect(log.reads).toBe(after)
  })

  it('share one reader', async () => {
    const clients = await Promise.all(Array.from({ length: 50 }, () => follow()))
    const before = log.reads
    happen()
    await pass(20)
    expect(log.reads - before).toBeLessThanOrEqual(2)
    expect(clients.map((client) => client.numbers())).toEqual(clients.map(() => [1]))
    expect(streams.health().streams).toBe(50)
    await Promise.all(clients.map((client) => client.leave()))
    expect(streams.health().streams).toBe(0)
  })

  it('are limited for one user and for all together; a stream that ends or cannot begin frees its place', async () => {
    streams = createEventStreams({ ...systems, eventLog: log, represent: () => ({}) }, { maxOfUser: 2, maxInAll: 3 })
    const clientOf = (principalId: string) => Object.assign(new SimulatedClient(), { principalId })
    const openAll = async (...ids: string[]) => {
      const clients = ids.map(clientOf)
      for (const client of clients) await client.open(streams, fromNowOn)
      return clients
    }
    const tooMany = { code: 'too-many-streams', retryAfterSeconds: 10 }
    const [first] = await openAll('alice', 'alice')
    await expect(openAll('alice')).rejects.toMatchObject(tooMany)
    const [other] = await openAll('bob')
    await expect(openAll('bob')).rejects.toMatchObject(tooMany)
    await first?.leave()
    expect(await clientOf('bob').open(streams, { ...fromTheBeginning, after: 9 })).toBe(false)
    log.isAway = true
    await expect(openAll('bob')).rejects.toThrow(Unavailable)
    log.isAway = false
    expect(streams.health().streams).toBe(2)
    const [third] = await openAll('bob')
    await expect(openAll('alice')).rejects.toMatchObject(tooMany)
    await Promise.all([other?.leave(), third?.leave()])
    await openAll('alice')
  })

  it('answer many wake-ups with few reads', async () => {
    const client = await follow()
    const before = log.reads
    for (let count = 0; count < 100; count += 1) {
      happen()
      await pass(1)
    }
    await pass(10)
    expect(client.numbers()).toHaveLength(100)
    expect(log.reads - before).toBeLessThan(30)
  })

  it('show an event whatever transactions are open, and report no lag', async () => {
    const client = await follow()
    log.begin()
    happen()
    await pass(20_000)
    expect(client.numbers()).toEqual([1])
    expect(streams.health().lagMs).toBe(0)
    await expect(streams.check()).resolves.toBeUndefined()
  })

  it('show an event that could not enter the log once it can, and report how long that was', async () => {
    const client = await follow()
    log.isStuck = true
    happen()
    await pass(3_000)
    expect(client.numbers()).toEqual([])
    expect(streams.health().lagMs).toBeGreaterThan(2_900)
    await expect(streams.check()).rejects.toThrow(Unavailable)
    log.isStuck = false
    await pass(1_000)
    expect(client.numbers()).toEqual([1])
    expect(streams.health().lagMs).toBe(0)
    await expect(streams.check()).resolves.toBeUndefined()
  })

  it('report no lag while new events arrive', async () => {
    await follow()
    for (let count = 0; count < 100; count += 1) {
      log.isStuck = true
      happen()
      await pass(10)
      log.isStuck = false
      await log.state()
      happen()
      await pass(1)
    }
    expect(streams.health().lagMs).toBeLessThan(100)
  })

  it('are told of another server as soon as it answers, when it is away again at first', async () => {
    const client = await follow()
    vi.spyOn(log, 'takeSnapshot').mockRejectedValueOnce(new Unavailable('database'))
    log.fallBackTo(10)
    await pass(2_000)
    expect(client.resets()).toEqual([0])
    const event = happen()
    await pass(10)
    expect(client.numbers()).toEqual([event])
  })

  it('are told of another server although its transactions are past the lost ones, and while they catch up', async () => {
    for (let count = 0; count < 150; count += 1) {
      happen()
      await log.state()
    }
    const waits = [0, 0, 50, 50]
    log.delay = () => new Promise((resolve) => setTimeout(resolve, waits.shift() ?? 0))
    const client = new SimulatedClient()
    await client.open(streams, fromTheBeginning)
    await pass(10)
    log.fallBackTo(130)
    for (let count = 0; count < 60; count += 1) happen()
    await pass(1_000)
    expect(client.resets()).toEqual([100])
    happen()
    await pass(10)
    expect(client.numbers()).toEqual(log.inOrder().map(({ id }) => Number(id)))
  })

  it('lose nothing when a crashed server assigns numbers of rolled-back transactions again', async () => {
    const [client, fromNow] = [await follow(), await follow(fromNowOn)]
    const first = happen()
    await pass(10)
    for (let count = 0; count < 3; count += 1) log.rollBack(log.begin())
    await pass(1_000)
    log.crash()
    // As many as were rolled back, so that no look sees the log go back.
    const written = [1, 2, 3].map(() => {
      const xid = log.begin()
      const event = log.write(xid)
      log.commit(xid)
      return event
    })
    await pass(1_000)
    for (const each of [client, fromNow]) {
      expect(each.isOpen()).toBe(false)
      await each.open(streams, { ...fromTheBeginning, after: first })
    }
    await pass(1_000)
    for (const each of [client, fromNow]) expect(each.numbers()).toEqual([first, ...written])
  })

  it('end after a crash while they catch up', async () => {
    for (let count = 0; count < 150; count += 1) happen()
    const waits = [0, 0, 50, 50]
    log.delay = () => new Promise((resolve) => setTimeout(resolve, waits.shift() ?? 0))
    const client = new SimulatedClient()
    await client.open(streams, fromTheBeginning)
    await pass(10)
    log.crash()
    await pass(1_000)
    expect(client.isOpen()).toBe(false)
    expect(client.numbers()).toHaveLength(100)
  })

  it('go on after an outage of the log, with heartbeats meanwhile', async () => {
    const clients = await Promise.all([follow(), follow(fromNowOn)])
    log.isAway = true
    await pass(40_000)
    expect(clients.map((client) => client.isOpen())).toEqual([true, true])
    expect(clients.map(commentsIn)).toEqual([2, 2])
    happen()
    log.isAway = false
    await pass(1_500)
    expect(clients.map((client) => client.numbers())).toEqual([[1], [1]])
  })

  it('send a comment every 15 seconds, and none while events come', async () => {
    const idle = await follow({ ...fromTheBeginning, dealId: 'other' })
    const busy = await follow()
    for (let seconds = 0; seconds < 60; seconds += 1) {
      happen()
      await pass(1_000)
    }
    expect([commentsIn(idle), commentsIn(busy)]).toEqual([4, 0])
  })

  it('disconnect a client that reads nothing, store little for it, and serve the others', async () => {
    const text = 'x'.repeat(4_000)
    streams = createEventStreams({ ...systems, eventLog: log, represent: () => ({ text }) })
    const [slow, other] = [await follow(), await follow()]
    slow.read(false)
    for (let count = 0; count < 500; count += 1) {
      happen()
      if (count % 10 === 0) await pass(10)
    }
    await pass(1_000)
    expect(slow.waitingBytes()).toBeLessThan(300 * 1024)
    expect(slow.wasCut).toBe(false)
    expect(other.numbers()).toHaveLength(500)
    await pass(31_000)
    expect(slow.wasCut).toBe(true)
    expect(other.isOpen()).toBe(true)
  })

  it('miss nothing when another stream joins the reader during a read', async () => {
    const answeredAfter = (ms: number) => {
      const waits = [0, ms]
      log.delay = () => new Promise((resolve) => setTimeout(resolve, waits.shift() ?? 0))
    }
    const first = await follow()
    answeredAfter(50)
    const second = new SimulatedClient()
    await second.open(streams, fromTheBeginning)
    await pass(5)
    const seenByFirst = happen()
    await pass(20)
    answeredAfter(100)
    const onItsWay = happen()
    await pass(5)
    expect(first.numbers()).toEqual([seenByFirst])
    await first.leave()
    await pass(300)
    expect(second.numbers()).toEqual([seenByFirst, onItsWay])
  })

  it('let a client that reconnects catch up', async () => {
    const slow = await follow()
    slow.read(false)
    for (let count = 0; count < 50; count += 1) {
      happen()
      await pass(500)
    }
    slow.read(true)
    await pass(60_000)
    expect(slow.wasCut).toBe(false)
    expect(slow.numbers()).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
  })
})
