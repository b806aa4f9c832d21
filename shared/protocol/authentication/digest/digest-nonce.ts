/**
 * Digest nonces (RFC 7616 §3.3, §5.4): the time of issue, random bytes and a mark of the database's history, under a
 * MAC. Every server with SERVICE_SECRET recognises them without storing them. `digest-counts.ts` keeps the used counts
 * of a nonce in that history: another one may have lost them.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { createMemo } from '../../../platform/cache/memo.ts'
import type { Clock } from '../../../platform/clock.ts'
import { deriveKey } from '../../../platform/crypto/derive-key.ts'
import { type History, type KnownHistory, markOf } from '../../../platform/history/history.ts'
import type { IdSource } from '../../../platform/ids.ts'
import { clockToleranceSeconds } from '../../clock-tolerance.ts'

/** A nonce that was issued under one of the secrets. */
export interface DigestNonce {
  readonly text: string
  /** Milliseconds since the epoch. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** The mark of the history that the issuing server knew, see `nonceMark`. */
  readonly mark: string
}

/** The hexadecimal digits of a mark in a nonce. */
export const markDigits = 8

/** The mark of a history in nonces: the first digits of the mark. */
export const nonceMark = (history: History): string => markOf(history).slice(0, markDigits)

/** Issues and reads nonces. */
export type DigestNonces = ReturnType<typeof createDigestNonces>

interface DigestNonceOptions {
  /** SERVICE_SECRET: the first one makes the MAC, all of them are accepted. */
  readonly secrets: readonly string[]
  readonly clock: Clock
  readonly ids: IdSource
  readonly history: Pick<KnownHistory, 'present'>
}

/** The lifetime of a nonce, in milliseconds. */
export const nonceLifeMs = 300_000

const timeBytes = 6
const randomBytes = 8
const markBytes = markDigits / 2
const macBytes = 16

/** Bounds of the memo of nonces with a right MAC. */
const remembered = { maxEntries: 10_000, maxBytes: 4_000_000 }

/** The nonces under these secrets. */
export function createDigestNonces({ secrets, clock, ids, history }: DigestNonceOptions) {
  const keys = secrets.map((secret) => deriveKey(secret, 'digest nonces'))
  const macOf = (content: Buffer, key: Buffer) =>
    createHmac('sha256', key).update(content).digest().subarray(0, macBytes)
  const right = createMemo<DigestNonce>(remembered)
  const readAnew = (text: string): DigestNonce | undefined => {
    const bytes = Buffer.from(text, 'base64url')
    if (bytes.length !== timeBytes + randomBytes + markBytes + macBytes || bytes.toString('base64url') !== text)
      return undefined
    const content = bytes.subarray(0, -macBytes)
    if (!keys.some((key) => timingSafeEqual(macOf(content, key), bytes.subarray(-macBytes)))) return undefined
    const issuedAt = bytes.readUIntBE(0, timeBytes)
    const mark = content.subarray(-markBytes).toString('hex')
    return { text, issuedAt, expiresAt: issuedAt + nonceLifeMs, mark }
  }
  return {
    issue: (): string => {
      const time = Buffer.alloc(timeBytes)
      time.writeUIntBE(Math.max(0, Math.floor(clock.now())), 0, timeBytes)
      // Without a history, the nonce is stale at its first use.
      const mark = nonceMark(history.present() ?? '')
      const random = Buffer.from(ids.secret(randomBytes), 'base64url')
      const content = Buffer.concat([time, random, Buffer.from(mark, 'hex')])
      const [key] = keys
      if (!key) throw new TypeError('there is at least one service secret')
      return Buffer.concat([content, macOf(content, key)]).toString('base64url')
    },
    /** The nonce, expired or not; undefined for one of other secrets, or that a clock too far ahead issued. */
    read: (text: string): DigestNonce | undefined => {
      const nonce = right.get(text, readAnew)
      return nonce && nonce.issuedAt <= clock.now() + clockToleranceSeconds * 1000 ? nonce : undefined
    },
  }
}
