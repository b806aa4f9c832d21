/**
 * The orderly end of a listener: what has been accepted is answered. A connection that was taken in, or is kept open, may send one more
 * request for a moment; its answer says that it is the last (`Connection: close`, RFC 9112 §9.6), so that nobody writes into a
 * connection that is being closed.
 */
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { OpenStreams } from '../stream.ts'

export interface DrainOptions {
  /** How long connections that nothing is under way on may send one more request, in milliseconds; 1,000 when left out. */
  readonly lastRequestMs?: number
  /** After so long, in milliseconds, what is left is cut; 10,000 when left out. */
  readonly graceMs?: number
}

/** How long a connection is kept open for the next request, in milliseconds. */
export const keepAliveMs = 65_000

/** The open connections of a server; call it before it listens. */
export function trackConnections(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>()
  const track = (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  }
  server.on('connection', track).on('secureConnection', track)
  return connections
}

/** Stops listening, ends streams, answers what is under way and one more request of each connection; resolves when all are closed. */
export async function drain(
  server: Server,
  { connections, streams }: { readonly connections: ReadonlySet<Socket>; readonly streams: OpenStreams },
  { lastRequestMs = 1_000, graceMs = 10_000 }: DrainOptions = {},
): Promise<void> {
  // Whoever is in the system's queue is taken in first. What comes between the last look and the end of listening is reset by the system.
  await nextTurn()
  await nextTurn()
  const closed = once(server, 'close')
  // `close` of an HTTP server would cut connections that are kept open, some of which have just been written to.
  NetServer.prototype.close.call(server)
  server.prependListener('request', (_request, response: ServerResponse) => response.setHeader('connection', 'close'))
  server.keepAliveTimeout = Math.max(1, lastRequestMs)
  streams.endAll()
  // After what has arrived by then was read.
  const endUnused = setTimeout(() => setImmediate(() => destroyAll(connections, isUnused)), lastRequestMs)
  const cut = setTimeout(() => destroyAll(connections, () => true), graceMs)
  await closed
  clearTimeout(endUnused)
  clearTimeout(cut)
}

/** It has sent nothing at all, or has waited for its next request since before the end began: afterwards Node.js waits for less. */
const isUnused = ({ bytesRead, timeout }: Socket): boolean => bytesRead === 0 || timeout === keepAliveMs

function destroyAll(connections: ReadonlySet<Socket>, which: (socket: Socket) => boolean): void {
  for (const socket of [...connections]) if (which(socket)) socket.destroy()
}

/** Whether a process has been told to end, which `/readyz` says before it stops listening. */
export class Draining {
  #hasBegun = false

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Resolves after `seconds`: whatever sends requests here should have stopped by then. */
  async begin(seconds: number): Promise<void> {
    this.#hasBegun = true
    if (seconds > 0) await pause(seconds * 1000)
  }
}
