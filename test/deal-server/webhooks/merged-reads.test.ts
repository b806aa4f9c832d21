import { describe, expect, it } from 'vitest'
import { beginning, type Place } from '../../../deal-server/events/event-log.ts'
import { createMergedReads, type FeedPlaces } from '../../../deal-server/webhooks/merged-reads.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { eventually } from '../../support/eventually.ts'
import { SimulatedLog } from '../events/simulated-log.ts'

/** A log with this many events. */
function logWith(events: number): SimulatedLog {
  const log = new SimulatedLog()
  for (let count = 0; count < events; count += 1) {
    const xid = log.begin()
    log.write(xid)
    log.commit(xid)
  }
  return log
}

const start = { ...beginning, mark: undefined }
const positions = (places: FeedPlaces) => places.map((place: Place | undefined) => place?.position)

describe('reads of several logs', () => {
  it('go on with the others while one is away, without asking it each time, and with all when it is back', async () => {
    const logs = [logWith(2), logWith(3)]
    const [, away] = logs as [SimulatedLog, SimulatedLog]
    const feed = createMergedReads(logs)
    away.isAway = true
    let asked = 0
    away.delay = async () => {
      asked += 1
      if (away.isAway) await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const first = await feed.read([start, start], { limit: 100 })
    expect([first.events.length, positions(first.ends), first.isLast]).toEqual([2, [2, 0], true])
    expect(first.runIds[1]).toBeUndefined()
    const before = asked
    for (let count = 0; count < 10; count += 1) await feed.read(first.ends, { limit: 100 })
    expect(asked - before).toBe(1)
    away.isAway = false
    const last = await eventually(async () => {
      const page = await feed.read(first.ends, { limit: 100 })
      expect(page.events).toHaveLength(3)
      return page
    })
    expect(positions(last.ends)).toEqual([2, 3])
    for (const log of logs) log.isAway = true
    await expect(feed.read(last.ends, { limit: 100 })).rejects.toThrow(Unavailable)
  })

  it('give nothing of a log whose place is not known, and say that it is back', async () => {
    const feed = createMergedReads([logWith(2), logWith(3)])
    const page = await feed.read([start, undefined], { limit: 100 })
    expect([page.events.length, positions(page.ends)]).toEqual([2, [2, undefined]])
    expect(page.runIds).toEqual(['1', '1'])
  })

  it('share a page among the logs', async () => {
    const feed = createMergedReads([logWith(30), logWith(50)])
    const page = await feed.read([start, start], { limit: 50 })
    expect([page.events.length, positions(page.ends), page.isLast]).toEqual([50, [25, 25], false])
  })
})
