/**
 * Seals prove that one of our own servers wrote an entry or a message in Redis. A seal is an HMAC-SHA256 (RFC 2104),
 * cut to 128 bits, under a key derived from SERVICE_SECRET (HKDF-SHA256, RFC 5869). It covers the value, the version,
 * the key or channel, so that a value is valid for no other one, and a time: an entry is valid no longer than its time
 * to live, a message is valid once and for a short time.
 *
 * A seal does not prove that an entry is the newest one: a person who can write to Redis can put back an older entry.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { deriveKey } from '../crypto/derive-key.ts'
import { createBoundedCache } from './bounded-cache.ts'
import { lifetimeMs, type Versioned } from './cache.ts'

interface CacheSealsOptions {
  /** SERVICE_SECRET: the first secret seals, all of them open. */
  readonly secrets: readonly string[]
  readonly clock: Clock
}

/** Seals and opens entries and messages. */
export type CacheSeals = ReturnType<typeof createCacheSeals>

/** The result of opening a seal. */
export type Opened = { readonly value: string } | 'expired' | 'forged'

/** The largest difference between the clocks of two servers, as for internal requests, in milliseconds. */
const clockToleranceMs = 90_000
/** The last message number of this many senders is kept. A sender is one process on one channel. */
const maxSenders = 1_000
const macBytes = 16

const entryForm = /^1 (\d{1,16}) ([A-Za-z0-9_-]{22}) /
const messageForm = /^1 ([A-Za-z0-9_-]{16}) (\d{1,16}) (\d{1,16}) ([A-Za-z0-9_-]{22}) /

/** The seals of one process. @throws TypeError without a secret */
export function createCacheSeals({ secrets, clock }: CacheSealsOptions) {
  const keys = secrets.map((secret) => deriveKey(secret, 'cache 1'))
  const [current] = keys
  if (!current) throw new TypeError('a cache needs a secret')
  const isRight = (text: string, mac: string): boolean => {
    const sent = Buffer.from(mac, 'base64url')
    return sent.length === macBytes && keys.some((key) => timingSafeEqual(sent, macOf(key, text)))
  }
  const sender = randomBytes(12).toString('base64url')
  const isNew = createOrder()
  let sent = 0
  return {
    /** The text that is stored in Redis for the value of an entry. */
    sealEntry: (key: string, { version, value }: Versioned, ttlSeconds: number): string => {
      const until = Math.ceil(clock.now() + lifetimeMs(ttlSeconds))
      return `1 ${until} ${textMac(current, entryText(key, `${version} ${until}`, value))} ${value}`
    },
    /** The value; `expired` after its time to live, `forged` when none of our own servers wrote it under this key. */
    openEntry: (key: string, { version, value: stored }: Versioned): Opened => {
      const [head, until = '', mac = ''] = entryForm.exec(stored) ?? []
      if (head === undefined) return 'forged'
      const value = stored.slice(head.length)
      if (!isRight(entryText(key, `${version} ${until}`, value), mac)) return 'forged'
      return Number(until) > clock.now() ? { value } : 'expired'
    },
    /** The text that is sent for a message. */
    sealMessage: (channel: string, message: string): string => {
      sent += 1
      const head = `${sender} ${sent} ${Math.round(clock.now())}`
      return `1 ${head} ${textMac(current, messageText(channel, head, message))} ${message}`
    },
    /** The message; `forged` also when it is old, was received before or comes too late. */
    openMessage: (channel: string, text: string): Opened => {
      const [head, from = '', number = '', at = '', mac = ''] = messageForm.exec(text) ?? []
      if (head === undefined) return 'forged'
      const value = text.slice(head.length)
      if (!isRight(messageText(channel, `${from} ${number} ${at}`, value), mac)) return 'forged'
      if (Math.abs(clock.now() - Number(at)) > clockToleranceMs) return 'forged'
      return isNew(`${channel} ${from}`, Number(number)) ? { value } : 'forged'
    },
  }
}

/**
 * True for a message with a higher number than all before: senders number their messages, and a copy or a late one is
 * refused.
 */
function createOrder(): (sender: string, number: number) => boolean {
  const last = createBoundedCache<number>({ maxEntries: maxSenders, maxBytes: 1_000_000 })
  return (sender, number) => {
    if (number <= (last.get(sender) ?? 0)) return false
    last.set(sender, number)
    return true
  }
}

// The length before the first part makes sure that no two lists of parts give the same text.
const entryText = (key: string, head: string, value: string): string => `entry ${key.length}:${key} ${head} ${value}`
const messageText = (channel: string, head: string, message: string): string =>
  `message ${channel.length}:${channel} ${head} ${message}`

const macOf = (key: Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest().subarray(0, macBytes)

const textMac = (key: Buffer, text: string): string => macOf(key, text).toString('base64url')
