/**
 * The orderly end of a listener: all accepted requests are answered. An accepted or idle connection may send one more
 * request for a short time. Its answer says that it is the last one (`Connection: close`, RFC 9112 §9.6), so that no
 * client writes into a connection that is being closed.
 */
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { OpenStreams } from '../stream.ts'

/** The time limits of an orderly end. */
export interface DrainOptions {
  /** How long an idle connection may send one more request, in milliseconds; 1,000 when left out. */
  readonly lastRequestMs?: number
  /** When the remaining connections are cut, in milliseconds; 10,000 when left out. */
  readonly graceMs?: number
}

/** How long a connection is kept open for the next request, in milliseconds. */
export const keepAliveMs = 65_000

/** The open connections of a server. Call it before the server listens. */
export function trackConnections(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>()
  const track = (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  }
  server.on('connection', track).on('secureConnection', track)
  return connections
}

/**
 * Stops listening, ends streams, answers running requests and one more request of each connection. Resolves when all
 * are closed.
 */
export async function drain(
  server: Server,
  { connections, streams }: { readonly connections: ReadonlySet<Socket>; readonly streams: OpenStreams },
  { lastRequestMs = 1_000, graceMs = 10_000 }: DrainOptions = {},
): Promise<void> {
  // First accept the connections in the queue of the system. The system resets connections that arrive after that and
  // before listening ends.
  await nextTurn()
  await nextTurn()
  const closed = once(server, 'close')
  // `close` of an HTTP server would cut idle connections, on some of which a client has just written a request.
  NetServer.prototype.close.call(server)
  server.prependListener('request', (_request, response: ServerResponse) => response.setHeader('connection', 'close'))
  server.keepAliveTimeout = Math.max(1, lastRequestMs)
  streams.endAll()
  // The immediate runs after data that has arrived by then was read.
  const endUnused = setTimeout(() => setImmediate(() => destroyAll(connections, isUnused)), lastRequestMs)
  const cut = setTimeout(() => destroyAll(connections, () => true), graceMs)
  await closed
  // A server does not count connections that another process has accepted for it.
  await Promise.all([...connections].map(async (socket) => socket.closed || once(socket, 'close')))
  // Ends the timer that looks for connections without a request.
  server.close()
  clearTimeout(endUnused)
  clearTimeout(cut)
}

/**
 * True if it has sent nothing, or has been idle since before the end began: after that, Node.js sets a shorter time
 * limit. Newer versions of Node.js add a second to the configured time.
 */
const isUnused = ({ bytesRead, timeout = 0 }: Socket): boolean => bytesRead === 0 || timeout >= keepAliveMs

function destroyAll(connections: ReadonlySet<Socket>, which: (socket: Socket) => boolean): void {
  for (const socket of [...connections]) if (which(socket)) socket.destroy()
}

/** Whether a process was told to end. `/readyz` says so before the process stops listening. */
export class Draining {
  #hasBegun = false

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Resolves after `seconds`. Load balancers should have stopped sending requests by then. */
  async begin(seconds: number): Promise<void> {
    this.#hasBegun = true
    if (seconds > 0) await pause(seconds * 1000)
  }
}
