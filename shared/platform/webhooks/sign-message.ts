/** Messages in the form of Standard Webhooks (https://www.standardwebhooks.com): their secrets, and what signs them. */
import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

const secretBytes = 32

/** A new secret: `whsec_` and 32 random bytes in base64. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(secretBytes).toString('base64')}`

/** A message, before it is sent. */
export interface Message {
  /** The same at every attempt, so that a receiver can drop what it has already. */
  readonly id: string
  /** The time of the attempt, in milliseconds since 1970. */
  readonly at: number
  readonly body: string
}

/** The header fields of a message. Each secret signs: there are several of them while one replaces another. */
export function signMessage({ id, at, body }: Message, secrets: readonly string[]): Readonly<Record<string, string>> {
  const time = new Date(at)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, time, body)).join(' '),
  }
}

/** The longest wait that a receiver may ask for, in milliseconds. */
const maxRetryAfterMs = 86_400_000

/** Reads `Retry-After` (RFC 9110 §10.2.3): milliseconds, at most a day; undefined without a usable one. */
export function retryAfterMs(field: string | undefined, now: number): number | undefined {
  if (field === undefined) return undefined
  const ms = /^\d{1,9}$/.test(field.trim()) ? Number(field) * 1000 : Date.parse(field) - now
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, maxRetryAfterMs) : undefined
}
