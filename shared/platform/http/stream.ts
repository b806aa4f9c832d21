/**
 * Bodies that are written piece by piece while the client is connected, with backpressure. The server ends them when it
 * drains.
 */
import type { ServerResponse } from 'node:http'
import type { HttpBindings } from '@hono/node-server'

/** Writes a body. The answer ends when the function resolves, and is cut off when it rejects. */
export type StreamBody = (stream: BodyStream) => Promise<void>

/** The body of one answer. */
export interface BodyStream {
  /** Sends a piece. False when more data waits than the connection takes at once. Pieces after the end are dropped. */
  write(piece: string | Uint8Array): boolean
  /** The bytes that wait in this process. */
  waitingBytes(): number
  /** Resolves when no data waits any more, or when the stream has ended. */
  drained(): Promise<void>
  /** Drops waiting data and closes the connection. */
  cut(): void
  /** Aborted when the client is gone or was cut off, and when the server drains. */
  readonly ended: AbortSignal
}

/** The streams of one listener. */
export class OpenStreams {
  readonly #ends = new Set<() => void>()
  #isEnding = false

  /** Calls `end` when all streams must end; at once if that is so already. The returned function removes it. */
  add(end: () => void): () => void {
    if (this.#isEnding) end()
    else this.#ends.add(end)
    return () => void this.#ends.delete(end)
  }

  /** Ends all streams, and all that are opened later. */
  endAll(): void {
    this.#isEnding = true
    for (const end of [...this.#ends]) end()
  }
}

/** Values that a listener passes to the app with each request. */
export interface ServerBindings extends HttpBindings {
  /** The streams of a listener that drains. */
  readonly streams?: OpenStreams
}

/**
 * Sends a body to a response whose head has been written. Resolves when it has ended, rejects with the error of `body`.
 */
export async function sendStream(outgoing: ServerResponse, body: StreamBody, streams?: OpenStreams): Promise<void> {
  const ending = new AbortController()
  const end = () => ending.abort()
  outgoing.once('close', end)
  outgoing.on('error', end)
  if (outgoing.destroyed) end()
  const forget = streams?.add(() => {
    // A client that does not read would block the draining. It can resume at its position later.
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

/**
 * Writes a piece, and waits until the client takes it. Cuts off a client that takes nothing for `stallMs`
 * milliseconds.
 */
export async function writeInTime(stream: BodyStream, piece: string, stallMs: number): Promise<void> {
  if (stream.write(piece)) return
  const timer = setTimeout(() => stream.cut(), stallMs)
  await stream.drained()
  clearTimeout(timer)
}

/** Runs a body whose reader takes everything at once, and collects its text. For bodies of bounded size. */
export async function collectStream(body: StreamBody): Promise<string> {
  const pieces: (string | Uint8Array)[] = []
  await body({
    write: (piece) => pieces.push(piece) > 0,
    waitingBytes: () => 0,
    drained: () => Promise.resolve(),
    cut: () => undefined,
    ended: new AbortController().signal,
  })
  return pieces.map((piece) => (typeof piece === 'string' ? piece : Buffer.from(piece).toString())).join('')
}
