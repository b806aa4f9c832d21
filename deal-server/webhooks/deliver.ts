/** One attempt to deliver one event: the message, its signatures, the request, and what happened to it. */
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { projectVersion } from '../../shared/platform/project-folder.ts'
import type { GuardedPost, PostOutcome } from '../../shared/platform/webhooks/guarded-post.ts'
import { retryAfterMs, signMessage } from '../../shared/platform/webhooks/sign-message.ts'
import type { Attempt, SealedSecrets } from './ports.ts'
import { signingSecrets, type WebhookSecrets } from './secrets.ts'

/** What is sent: the payload of Standard Webhooks, and what the attempt is noted by. */
export interface Delivery {
  readonly eventId: string
  readonly type: string
  /** RFC 3339: when the event happened. */
  readonly timestamp: string
  readonly data: unknown
  readonly dealId: string | null
  readonly attempt: number
}

type Receiver = { readonly id: string; readonly url: string } & SealedSecrets

/** The result of an attempt. */
export interface Delivered {
  readonly attempt: Attempt
  /** Milliseconds that the receiver asked to wait. */
  readonly retryAfterMs: number | undefined
  /** True when the receiver is gone for good (410). */
  readonly isGone: boolean
  /** True when the request was ended from here: it says nothing about the receiver. */
  readonly isAborted: boolean
}

/** Sends an event once. Undefined when no secret can be opened. Never rejects for what the receiver does. */
export type Deliver = (
  receiver: Receiver,
  sent: { readonly delivery: Delivery; readonly signal?: AbortSignal },
) => Promise<Delivered | undefined>

/** Makes it. Every message has the same header fields beside its signatures. */
export const createDeliver =
  (post: GuardedPost, secrets: WebhookSecrets, clock: Clock): Deliver =>
  async (receiver, { delivery, signal }) => {
    const { eventId, type, timestamp, data, dealId, attempt } = delivery
    const at = clock.now()
    const keys = signingSecrets(receiver, secrets, at)
    if (keys === undefined) return undefined
    const body = JSON.stringify({ type, timestamp, data })
    const started = clock.monotonic()
    const fields = signMessage({ id: eventId, at, body }, keys)
    const request = { url: receiver.url, fields: { ...fieldsOfAll, ...fields }, body, signal }
    const outcome = await post.send(request)
    const durationMs = Math.round(clock.monotonic() - started)
    const { status, reason } = judge(outcome)
    return {
      attempt: {
        eventId,
        type,
        dealId,
        attempt,
        at: rfc3339(at),
        durationMs,
        status,
        reason,
        outcome: reason === null ? 'delivered' : 'failed',
      },
      retryAfterMs: 'status' in outcome ? retryAfterMs(outcome.retryAfter, clock.now()) : undefined,
      isGone: status === 410,
      isAborted: 'failure' in outcome && outcome.failure === 'aborted',
    }
  }

const fieldsOfAll = {
  'content-type': 'application/json',
  'user-agent': `Keyhold/${projectVersion()}`,
  accept: '*/*',
}

/** A delivery is an answer with 2xx, nothing else. */
function judge(outcome: PostOutcome): Pick<Attempt, 'status' | 'reason'> {
  if ('failure' in outcome) return { status: null, reason: outcome.failure }
  const { status } = outcome
  if (status >= 200 && status < 300) return { status, reason: null }
  if (status >= 300 && status < 400) return { status, reason: 'redirect' }
  return { status, reason: status === 410 ? 'gone' : 'refused' }
}
