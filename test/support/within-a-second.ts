import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Reply } from './http-client.ts'

/** Within this time a change has taken effect everywhere (CONTRACT section 7), in milliseconds. */
const promisedMs = 1_000

/**
 * Asks until the answer has the status `to`, and gives that answer. Only what was sent within a second of now may still be answered
 * with `from`, and nothing with another status: what counts is when a request was sent, however long this machine takes to answer it.
 */
export async function withinASecond(
  ask: () => Promise<Reply>,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Reply> {
  const startedAt = performance.now()
  for (;;) {
    const sentAfterMs = performance.now() - startedAt
    const reply = await ask()
    if (reply.status === to) return reply
    expect(reply.status, reply.text).toBe(from)
    if (sentAfterMs > promisedMs) throw new Error(`still ${from} after ${Math.round(sentAfterMs)} ms`)
    await sleep(5)
  }
}
