/**
 * Bodies that are written piece by piece for as long as the client stays: with backpressure, and ended by the server when it drains.
 * Knows nothing of what is written.
 */
import type { ServerResponse } from 'node:http'
import type { HttpBindings } from '@hono/node-server'

/** Writes a body. The answer ends when it resolves; it is cut off when it rejects. */
export type StreamBody = (stream: BodyStream) => Promise<void>

/** The way to one client. */
export interface BodyStream {
  /** Sends a piece; false when more waits than the connection takes at once. What is written after the end is dropped. */
  write(piece: string | Uint8Array): boolean
  /** Bytes that wait in this process. */
  waitingBytes(): number
  /** Resolves when nothing waits any more, or when the stream has ended. */
  drained(): Promise<void>
  /** Drops what waits, and closes the connection. */
  cut(): void
  /** Aborted when the client has gone away or was cut off, and when the server drains. */
  readonly ended: AbortSignal
}

/** The streams of one listener. */
export class OpenStreams {
  readonly #ends = new Set<() => void>()
  #isEnding = false

  /** Calls `end` when all streams must end: at once when they must already. Gives what undoes it. */
  add(end: () => void): () => void {
    if (this.#isEnding) end()
    else this.#ends.add(end)
    return () => void this.#ends.delete(end)
  }

  /** Ends all, and whatever is opened from now on. */
  endAll(): void {
    this.#isEnding = true
    for (const end of [...this.#ends]) end()
  }
}

/** What a listener hands to the app beside the request. */
export interface ServerBindings extends HttpBindings {
  /** Where there is a listener that drains. */
  readonly streams?: OpenStreams
}

/** Sends what `body` writes to a response whose head has been written. Resolves when it has ended; rejects with what `body` threw. */
export async function sendStream(outgoing: ServerResponse, body: StreamBody, streams?: OpenStreams): Promise<void> {
  const ending = new AbortController()
  const end = () => ending.abort()
  outgoing.once('close', end)
  outgoing.on('error', end)
  if (outgoing.destroyed) end()
  const forget = streams?.add(() => {
    // A client that does not read would keep the server from draining; it can come back to where it was.
    if (outgoing.writableNeedDrain) outgoing.destroy()
    else outgoing.end()
    end()
  })
  try {
    await body(bodyStream(outgoing, ending.signal))
    outgoing.end()
  } catch (error) {
    outgoing.destroy()
    throw error
  } finally {
    forget?.()
    end()
  }
}

const bodyStream = (outgoing: ServerResponse, ended: AbortSignal): BodyStream => ({
  write: (piece) => ended.aborted || outgoing.write(piece),
  waitingBytes: () => outgoing.writableLength,
  drained: () =>
    new Promise((resolve) => {
      if (ended.aborted || !outgoing.writableNeedDrain) return resolve()
      const settle = () => {
        outgoing.off('drain', settle)
        ended.removeEventListener('abort', settle)
        resolve()
      }
      outgoing.once('drain', settle)
      ended.addEventListener('abort', settle)
    }),
  cut: () => void outgoing.destroy(),
  ended,
})
