import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Reply } from '../clients/http-client.ts'
import { allowHoldUps } from '../held-up.ts'

/**
 * For how long after its acknowledgement a change may at most be unknown somewhere, in milliseconds
 * (docs/contract/promises.md). What a busy machine adds: `allowHoldUps`.
 */
export const promisedMs = 1_000

/**
 * Asks until the answer has the status `to`, and gives that answer. Only what was sent within a second of now may still
 * be answered with `from`, and nothing with another status: what counts is when a request was sent, however long this
 * machine takes to answer it.
 */
export async function withinASecond(
  ask: () => Promise<Reply>,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Reply> {
  const allowed = allowHoldUps()
  const startedAt = performance.now()
  for (;;) {
    const sentAfterMs = performance.now() - startedAt
    const reply = await ask()
    if (reply.status === to) return reply
    expect(reply.status, reply.text).toBe(from)
    if (sentAfterMs > allowed(promisedMs)) throw new Error(`still ${from} after ${Math.round(sentAfterMs)} ms`)
    await sleep(5)
  }
}
