/**
 * The second way of the change feed: a stream from an auth server, open while Redis brings too little
 * (docs/revocation.md#the-stream). It goes on where the feed is, so nothing that is remembered is lost.
 *
 * A line says how long after the request was received the database was read, at least. The request was sent before, so
 * the sum of both is a time at which the read was still to come: a line that is late is old, whatever held it up. It
 * is the same with what the auth server has heard. The two clocks may differ in speed, so a stream is replaced after a
 * minute: the next one brings a line before the former one is given up.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../../shared/platform/clock.ts'
import type { FollowingSystems } from '../auth-client/auth-client.ts'
import type { PrincipalFeed } from './principal-feed.ts'

interface Streaming extends FollowingSystems {
  readonly feed: PrincipalFeed
}

/** The stream of one server. */
export type FeedStream = ReturnType<typeof createFeedStream>

/** How often it looks whether the stream is needed, and whether it is silent, in milliseconds. */
const lookIntervalMs = 50
/** A stream without a line for this time is given up, in milliseconds: two heartbeats and their way. */
const silentAfterMs = 450
/** After this time a stream is replaced, in milliseconds. In that time two clocks part by a few milliseconds. */
const streamLifeMs = 60_000
/** A line that seems to be of the future by more than this, in milliseconds: a clock has stood still. */
const clockToleranceMs = 100
/** Pauses after a stream that brought nothing, in milliseconds. */
const firstPauseMs = 100
const longestPauseMs = 2_000

/** Makes it. It opens nothing before it is started. */
export function createFeedStream(systems: FollowingSystems, feed: PrincipalFeed) {
  const stopping = new AbortController()
  return {
    start: () => void followWhileNeeded({ ...systems, feed }, stopping.signal),
    stop: () => stopping.abort(),
  }
}

async function followWhileNeeded(systems: Streaming, stopped: AbortSignal): Promise<void> {
  const { feed, log } = systems
  let pauseMs = firstPauseMs
  let isOpen = false
  const onFirstLine = () => {
    if (!isOpen) log.info('The change feed comes from an auth server')
    isOpen = true
  }
  while (!stopped.aborted) {
    const isNeeded = feed.needsStream()
    if (isOpen && !isNeeded) log.info('The change feed comes from Redis again')
    isOpen &&= isNeeded
    const lines = isNeeded ? await followInTurn(systems, { stopped, onFirstLine }) : 0
    const isInVain = isNeeded && lines === 0 && feed.position() !== undefined
    await pause(isInVain ? pauseMs : lookIntervalMs, stopped)
    pauseMs = isInVain ? Math.min(2 * pauseMs, longestPauseMs) : firstPauseMs
  }
}

/** A stream that is followed. */
interface Followed {
  /** The number of its lines, when it has ended. */
  readonly lines: Promise<number>
  end(): void
}

/** Follows a stream and those that replace it, to the end of the last one. Resolves to the number of their lines. */
async function followInTurn(
  systems: Streaming,
  { stopped, onFirstLine }: { stopped: AbortSignal; onFirstLine: () => void },
): Promise<number> {
  let next: Followed | undefined
  const open = (former?: Followed): Followed => {
    const ending = new AbortController()
    const onFirst = () => {
      former?.end()
      onFirstLine()
    }
    const events = { onFirstLine: onFirst, onAged: () => replace(opened) }
    const lines = followOnce(systems, { stopped: AbortSignal.any([stopped, ending.signal]), ...events })
    const opened = { lines, end: () => ending.abort() }
    return opened
  }
  // A stream that brings nothing replaces none: the former one goes on, and asks again after a pause.
  let askedAt = Number.NEGATIVE_INFINITY
  const replace = (former: Followed) => {
    const now = systems.clock.monotonic()
    if (next || now - askedAt < longestPauseMs) return
    askedAt = now
    const opened = open(former)
    next = opened
    void opened.lines.then((lines) => {
      if (lines === 0 && next === opened) next = undefined
    })
  }
  let total = 0
  for (let current: Followed | undefined = open(); current; [current, next] = [next, undefined]) {
    total += await current.lines
  }
  return total
}

/** Follows one stream to its end. Resolves to the number of its lines, and never rejects. */
async function followOnce(
  systems: Streaming,
  { stopped, onFirstLine, onAged }: { stopped: AbortSignal; onFirstLine: () => void; onAged: () => void },
): Promise<number> {
  const { feed, authClient, clock } = systems
  const from = feed.position()
  if (!from) return 0
  const sentAt = clock.monotonic()
  const watched = watch(clock, stopped)
  let [lines, readAt] = [0, Number.NEGATIVE_INFINITY]
  try {
    for await (const line of authClient.feedLines(from, watched.signal)) {
      const now = clock.monotonic()
      watched.noteData()
      if (line.end) readAt = sentAt + line.end.readMs
      const announcedAt = sentAt + (line.announcedMs ?? Number.NEGATIVE_INFINITY)
      if (watched.signal.aborted || Math.max(readAt, announcedAt) > now + clockToleranceMs) break
      if (feed.position()?.instance !== from.instance) break
      if (line.instanceId !== from.instance) {
        feed.observeInstance(line.instanceId, from.instance)
        break
      }
      feed.onLine(line, Math.min(readAt, now), Math.min(announcedAt, now))
      lines += 1
      if (lines === 1) onFirstLine()
      if (line.end && !feed.needsStream()) break
      if (line.end && now - sentAt > streamLifeMs) onAged()
    }
  } catch {
    // The next stream leads to another auth server, or to the same one later.
  } finally {
    watched.end()
  }
  return lines
}

/** A signal that is aborted when no data comes for a while. */
function watch(clock: Clock, stopped: AbortSignal) {
  const abort = new AbortController()
  const end = () => abort.abort()
  let dataAt = clock.monotonic()
  const isSilent = () => clock.monotonic() - dataAt > silentAfterMs
  const look = async () => {
    while (!abort.signal.aborted) {
      await pause(lookIntervalMs, abort.signal)
      if (!isSilent()) continue
      // Timers run before sockets are read, immediates after.
      await new Promise(setImmediate)
      if (isSilent()) end()
    }
  }
  stopped.addEventListener('abort', end, { once: true })
  void look()
  return {
    signal: abort.signal,
    noteData: () => {
      dataAt = clock.monotonic()
    },
    end: () => {
      stopped.removeEventListener('abort', end)
      end()
    },
  }
}

const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  sleep(milliseconds, undefined, { signal, ref: false }).catch(() => undefined)
