/**
 * What shows of an entry or a message in Redis that a server of this installation has written it: an HMAC-SHA256 (RFC 2104), cut to 128 bits,
 * under a key derived from SERVICE_SECRET (HKDF-SHA256, RFC 5869). It covers the key or the channel too, so that what was written for one is
 * good for no other, the version, and a time: an entry is good no longer than it was to stay, a message is good once, and for a short while.
 *
 * What it does not show is that an entry is the newest one: who can write to Redis can put back an older one that was true once.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { deriveKey } from '../crypto/derive-key.ts'
import { createBoundedCache } from './bounded-cache.ts'
import type { Versioned } from './cache.ts'
import { lifetimeMs } from './versions.ts'

export interface CacheSealsOptions {
  /** SERVICE_SECRET: the first seals, all open. */
  readonly secrets: readonly string[]
  readonly clock: Pick<Clock, 'now'>
}

export interface CacheSeals {
  /** The text that stands in Redis for the value of an entry. */
  sealEntry(key: string, entry: Versioned, ttlSeconds: number): string
  /** The value; `expired` when its time is over, `forged` when no server of this installation has written this here. */
  openEntry(key: string, stored: Versioned): Opened
  /** The text that travels for a message. */
  sealMessage(channel: string, message: string): string
  /** The message; `forged` also when it is an old one that was heard before or comes too late. */
  openMessage(channel: string, text: string): Opened
}

export type Opened = { readonly value: string } | 'expired' | 'forged'

/** Two servers' clocks may be apart by so much, as at `/internal`, in milliseconds. */
const clockToleranceMs = 90_000
/** The last messages of so many senders are remembered: one for each process and channel. */
const maxSenders = 1_000
const macBytes = 16

const entryForm = /^1 (\d{1,16}) ([A-Za-z0-9_-]{22}) /
const messageForm = /^1 ([A-Za-z0-9_-]{16}) (\d{1,16}) (\d{1,16}) ([A-Za-z0-9_-]{22}) /

/** The seals of one process. @throws TypeError without a secret */
export function createCacheSeals({ secrets, clock }: CacheSealsOptions): CacheSeals {
  const keys = secrets.map((secret) => deriveKey(secret, 'cache 1'))
  const [current] = keys
  if (!current) throw new TypeError('a cache needs a secret')
  const isRight = (text: string, mac: string): boolean => {
    const presented = Buffer.from(mac, 'base64url')
    return presented.length === macBytes && keys.some((key) => timingSafeEqual(presented, macOf(key, text)))
  }
  const sender = randomBytes(12).toString('base64url')
  const isNews = createOrder()
  let sent = 0
  return {
    sealEntry: (key, { version, value }, ttlSeconds) => {
      const until = Math.ceil(clock.now() + lifetimeMs(ttlSeconds))
      return `1 ${until} ${textMac(current, entryText(key, `${version} ${until}`, value))} ${value}`
    },
    openEntry: (key, { version, value: stored }) => {
      const [head, until = '', mac = ''] = entryForm.exec(stored) ?? []
      if (head === undefined) return 'forged'
      const value = stored.slice(head.length)
      if (!isRight(entryText(key, `${version} ${until}`, value), mac)) return 'forged'
      return Number(until) > clock.now() ? { value } : 'expired'
    },
    sealMessage: (channel, message) => {
      sent += 1
      const head = `${sender} ${sent} ${Math.round(clock.now())}`
      return `1 ${head} ${textMac(current, messageText(channel, head, message))} ${message}`
    },
    openMessage: (channel, text) => {
      const [head, from = '', number = '', at = '', mac = ''] = messageForm.exec(text) ?? []
      if (head === undefined) return 'forged'
      const value = text.slice(head.length)
      if (!isRight(messageText(channel, `${from} ${number} ${at}`, value), mac)) return 'forged'
      if (Math.abs(clock.now() - Number(at)) > clockToleranceMs) return 'forged'
      return isNews(`${channel} ${from}`, Number(number)) ? { value } : 'forged'
    },
  }
}

/** Senders number their messages: none is heard twice, nor after a later one. */
function createOrder(): (sender: string, number: number) => boolean {
  const last = createBoundedCache<number>({ maxEntries: maxSenders, maxBytes: 1_000_000 })
  return (sender, number) => {
    if (number <= (last.get(sender) ?? 0)) return false
    last.set(sender, number)
    return true
  }
}

// The length of what comes first keeps two lists of parts from being one text.
const entryText = (key: string, head: string, value: string): string => `entry ${key.length}:${key} ${head} ${value}`
const messageText = (channel: string, head: string, message: string): string =>
  `message ${channel.length}:${channel} ${head} ${message}`

const macOf = (key: Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest().subarray(0, macBytes)

const textMac = (key: Buffer, text: string): string => macOf(key, text).toString('base64url')
