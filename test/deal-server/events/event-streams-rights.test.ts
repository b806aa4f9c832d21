import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createEventStreams, type EventStreams } from '../../../deal-server/events/event-streams.ts'
import { ProblemError, Unavailable } from '../../../shared/platform/problems/errors.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { fromNowOn, fromTheBeginning, SimulatedClient } from './simulated-client.ts'
import { SimulatedLog } from './simulated-log.ts'

const systems = fakeSystems({ clock: { now: () => Date.now(), monotonic: () => Date.now() } })
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

let log: SimulatedLog
let streams: EventStreams
let failure: Error | undefined

function happen(): void {
  const xid = log.begin()
  log.write(xid)
  log.commit(xid)
  streams.wakeUp()
}

/** A stream whose caller may read while there is no `failure`. */
async function follow(request = fromTheBeginning): Promise<SimulatedClient> {
  const client = new SimulatedClient()
  const mayRead = async () => {
    if (failure) throw failure
  }
  expect(await client.open(streams, request, mayRead)).toBe(true)
  await pass(10)
  return client
}

const gone = new ProblemError('missing-right', 'gone')
const unknown = new Unavailable('auth-server')

describe('event streams whose caller', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
    log = new SimulatedLog()
    streams = createEventStreams({ ...systems, eventLog: log, represent: ({ id }) => ({ id: Number(id) }) })
    failure = undefined
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('has lost the right send nothing, not even what was waiting', async () => {
    const client = await follow()
    happen()
    await pass(10)
    failure = gone
    happen()
    await pass(10)
    expect(client.numbers()).toEqual([1])
    expect(client.isOpen()).toBe(false)
  })

  it('has lost the right end within a second when nothing happens', async () => {
    const client = await follow(fromNowOn)
    await pass(5_000)
    failure = gone
    await pass(1_000)
    expect(client.isOpen()).toBe(false)
    await client.run
  })

  it.each([
    ['and go on', undefined, [1, 2]],
    ['and end when the right was taken away by then', gone, [1]],
  ])('is unknown for a while send heartbeats alone, %s', async (_, later, numbers) => {
    const client = await follow()
    happen()
    await pass(10)
    failure = unknown
    happen()
    await pass(40_000)
    expect(client.numbers()).toEqual([1])
    expect(client.received.split('\n\n').filter((block) => block === ':')).toHaveLength(2)
    failure = later
    await pass(1_000)
    expect(client.numbers()).toEqual(numbers)
    expect(client.isOpen()).toBe(later === undefined)
  })

  it('is unknown after a failover send the reset once it is known', async () => {
    const client = await follow()
    happen()
    await pass(10)
    failure = unknown
    log.failOver(0)
    await pass(5_000)
    expect(client.received).not.toContain('reset')
    failure = undefined
    await pass(2_000)
    expect(client.received).toContain('event: reset')
  })
})
