/** What the workers of a deal server leave to their primary process (docs/operations.md#workers). */
import { type Clock, machineMs } from '../shared/platform/clock.ts'
import { type Channel, defineCall, defineNews } from '../shared/platform/workers/channel.ts'
import type { Workers } from '../shared/platform/workers/primary.ts'
import type { MachineRole } from '../shared/platform/workers/role.ts'
import type { FeedLine } from '../shared/protocol/internal-api/feed-stream.ts'
import type { EventLog, EventPage, ReadOptions } from './events/event-log.ts'
import type { AcquireStream, EventStreams } from './events/event-streams.ts'
import type { Place } from './events/position.ts'
import { createSharedReads } from './events/shared-reads.ts'
import type { WakeUpPorts, WakeUps } from './events/wake-ups.ts'
import type { Webhooks } from './webhooks/webhooks.ts'

/** A worker wrote events. */
const wakeUpCall = defineCall<undefined, void>('wake-up')
/** A worker changed a webhook. */
const webhookNews = defineNews<undefined>('webhook-changed')

/** A worker opens a stream of this principal; the answer is the number of the stream. */
const acquireCall = defineCall<string, number>('acquire-stream')
/** The stream of this number has ended. */
const releaseNews = defineNews<number>('release-stream')

/** A line of the change feed that the primary process follows as a stream, and `readAt` on the clock of the machine. */
const feedLineNews = defineNews<{ readonly line: FeedLine; readonly readAt: number }>('feed-line')

/** A worker reads the events that have just come. */
const readCall = defineCall<{ readonly after: Place; readonly options: ReadOptions }, EventPage>('read-events')

/** The parts of the primary process that serve its workers. */
export interface PrimaryParts {
  readonly wakeUps: Pick<WakeUps, 'send'>
  readonly webhooks: Pick<Webhooks, 'look'>
  readonly events: Pick<EventStreams, 'acquire'>
  readonly eventLog: Pick<EventLog, 'read'>
}

/** Serves the workers of a primary process. Does nothing in other processes. */
export function serveWorkers({ primary }: MachineRole, { wakeUps, webhooks, events, eventLog }: PrimaryParts): void {
  if (!primary) return
  primary.answer(wakeUpCall, () => wakeUps.send())
  primary.hear(webhookNews, () => webhooks.look())
  countStreams(primary, events)
  const shared = createSharedReads(eventLog)
  primary.answer(readCall, ({ after, options }) => shared.read(after, options))
}

/** Reads the events that have just come by the primary process: once for all workers that are at the same place. */
export const readByPrimary = (channel: Channel): Pick<EventLog, 'read'> => ({
  read: (after, options) => channel.call(readCall, { after, options }),
})

/** Counts the streams of all workers together. Those of a worker that ends are released. */
function countStreams(primary: Workers, events: Pick<EventStreams, 'acquire'>): void {
  const open = new Map<number, { readonly worker: number; readonly release: () => void }>()
  let last = 0
  const end = (stream: number) => {
    open.get(stream)?.release()
    open.delete(stream)
  }
  primary.answer(acquireCall, async (principalId, { number: worker }) => {
    const release = await events.acquire(principalId)
    last += 1
    open.set(last, { worker, release })
    return last
  })
  primary.hear(releaseNews, end)
  primary.onLeave(({ number }) => {
    for (const [stream, { worker }] of [...open]) if (worker === number) end(stream)
  })
}

/** Counts the streams of a worker in the primary process. */
export const acquireByPrimary =
  (channel: Channel): AcquireStream =>
  async (principalId) => {
    const stream = await channel.call(acquireCall, principalId)
    let isOpen = true
    return () => {
      if (isOpen) void channel.tell(releaseNews, stream)
      isOpen = false
    }
  }

/** The cache for wake-ups of a worker: the primary process sends one message for all workers. */
export const wakeUpsByPrimary = (
  cache: Pick<WakeUpPorts['cache'], 'subscribe'>,
  channel: Channel,
): WakeUpPorts['cache'] => ({
  subscribe: (name, listener) => cache.subscribe(name, listener),
  time: async () => '',
  publish: async () => {
    await channel.call(wakeUpCall, undefined)
    return true
  },
})

/** Tells the primary process, which delivers to webhooks, that one was changed. */
export const webhookChanged = (channel: Channel) => (): void => void channel.tell(webhookNews, undefined)

/** Passes lines of the change feed on to all workers. */
export const passFeedLines =
  ({ primary }: MachineRole, clock: Pick<Clock, 'monotonic'>) =>
  (line: FeedLine, readAt: number): void =>
    primary?.tell(feedLineNews, { line, readAt: machineMs() - clock.monotonic() + readAt })

/** The feed of a worker. */
interface HearsLines {
  onLine(line: FeedLine, readAt: number): void
}

/** Takes the lines that the primary process passes on. */
export function hearFeedLines(channel: Channel, feed: HearsLines, clock: Pick<Clock, 'monotonic'>): void {
  channel.hear(feedLineNews, ({ line, readAt }) => feed.onLine(line, clock.monotonic() - machineMs() + readAt))
}
