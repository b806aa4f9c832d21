import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Reply } from '../clients/http-client.ts'

/** Between two questions, in milliseconds. */
const pauseMs = 5

/**
 * News takes so many turns, at the most, in processes that share the machine: to see what changed, to tell, to ask, to
 * answer.
 */
const turns = 4

/**
 * How long after its acknowledgement a change may at most be unknown somewhere: a second (docs/contract/promises.md),
 * and what a machine adds that is busy with something else, told by how late the pauses end.
 */
export class Promised {
  #latestMs = 0

  /** In milliseconds. */
  get ms(): number {
    return 1_000 + turns * this.#latestMs
  }

  async pause(): Promise<void> {
    const startedAt = performance.now()
    await sleep(pauseMs)
    this.#latestMs = Math.max(this.#latestMs, performance.now() - startedAt - pauseMs)
  }
}

/**
 * Asks until the answer has the status `to`, and gives that answer. Only what was sent within a second of now may still
 * be answered with `from`, and nothing with another status: what counts is when a request was sent, however long this
 * machine takes to answer it.
 */
export async function withinASecond(
  ask: () => Promise<Reply>,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Reply> {
  const promised = new Promised()
  const startedAt = performance.now()
  for (;;) {
    const sentAfterMs = performance.now() - startedAt
    const reply = await ask()
    if (reply.status === to) return reply
    expect(reply.status, reply.text).toBe(from)
    if (sentAfterMs > promised.ms) throw new Error(`still ${from} after ${Math.round(sentAfterMs)} ms`)
    await promised.pause()
  }
}
