/**
 * One subscription of each channel of the cache for all workers of a machine. The primary process subscribes and passes
 * the messages on. A worker whose primary process is silent takes the cache for silent too.
 */
import type { Cache } from '../cache/cache.ts'
import { ChannelListeners } from '../cache/channel-listeners.ts'
import { machineMs } from '../clock.ts'
import { type Channel, defineCall, defineNews } from './channel.ts'
import type { Member, Workers } from './primary.ts'

interface Passed {
  readonly channel: string
  readonly message: string
  readonly maxDelayMs: number
}

const subscribeCall = defineCall<string, void>('subscribe')
const unsubscribeCall = defineCall<string, void>('unsubscribe')
const messageNews = defineNews<Passed>('cache-message')
const silenceNews = defineNews<boolean>('cache-silence')

/** How often the primary process says that it passes messages on, in milliseconds. */
const pulseMs = 100
/** After this time without a word, messages may be late, in milliseconds. */
const silentAfterMs = 500

/** A channel that workers listen to. */
interface Shared {
  readonly members: Set<Member>
  /** Ends the subscription of the machine. */
  readonly subscription: Promise<() => Promise<void>>
}

/** Serves the subscriptions of all workers, each channel once. Answers the function that ends them. */
export function shareSubscriptions(
  workers: Pick<Workers, 'answer' | 'onLeave' | 'tell'>,
  cache: Pick<Cache, 'subscribe' | 'isSilent'>,
): () => Promise<void> {
  const channels = new Map<string, Shared>()
  const open = (channel: string): Shared => {
    const members = new Set<Member>()
    const subscription = cache.subscribe(channel, (message, maxDelayMs) => {
      for (const member of members) void member.channel.tell(messageNews, { channel, message, maxDelayMs })
    })
    const shared = { members, subscription }
    channels.set(channel, shared)
    return shared
  }
  const leave = async (channel: string, member: Member) => {
    const shared = channels.get(channel)
    shared?.members.delete(member)
    if (!shared || shared.members.size > 0) return
    channels.delete(channel)
    await (await shared.subscription)()
  }
  workers.answer(subscribeCall, async (channel, member) => {
    const shared = channels.get(channel) ?? open(channel)
    shared.members.add(member)
    await shared.subscription
  })
  workers.answer(unsubscribeCall, leave)
  workers.onLeave((member) => {
    for (const channel of [...channels.keys()]) void leave(channel, member)
  })
  const timer = setInterval(() => workers.tell(silenceNews, cache.isSilent()), pulseMs).unref()
  return async () => {
    clearInterval(timer)
    const all = [...channels.values()]
    channels.clear()
    await Promise.all(all.map(async ({ subscription }) => (await subscription)()))
  }
}

/** The cache of a worker: its subscriptions lead through the primary process, all else stays. */
export function subscribeByPrimary(cache: Cache, channel: Channel, onListenerError: (error: unknown) => void): Cache {
  const listeners = new ChannelListeners(onListenerError)
  let heardAt = Number.NEGATIVE_INFINITY
  let isSilent = true
  channel.hear(silenceNews, (silent, delayMs) => {
    heardAt = machineMs() - delayMs
    isSilent = silent
  })
  channel.hear(messageNews, ({ channel: name, message, maxDelayMs }, delayMs) => {
    listeners.addressees(name)(message, maxDelayMs + delayMs)
  })
  return {
    useNumber: (...given) => cache.useNumber(...given),
    startNumbers: (...given) => cache.startNumbers(...given),
    beginAttempt: (...given) => cache.beginAttempt(...given),
    endAttempt: (...given) => cache.endAttempt(...given),
    allowsAttempt: (...given) => cache.allowsAttempt(...given),
    putVersioned: (...given) => cache.putVersioned(...given),
    getVersioned: (...given) => cache.getVersioned(...given),
    time: () => cache.time(),
    publish: (...given) => cache.publish(...given),
    subscribe: async (name, listener) => {
      const remove = listeners.add(name, listener)
      await channel.call(subscribeCall, name).catch(() => undefined)
      return async () => {
        remove()
        if (!listeners.channels().includes(name)) await channel.call(unsubscribeCall, name).catch(() => undefined)
      }
    },
    isSilent: () => isSilent || machineMs() - heardAt > silentAfterMs,
    ping: () => cache.ping(),
    close: () => cache.close(),
  }
}
