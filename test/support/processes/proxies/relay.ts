import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP relay between clients and a server of this machine. */
export interface Relay {
  readonly port: number
  /** Both ends of every connection that is open. */
  readonly sockets: ReadonlySet<Socket>
  close(): Promise<void>
}

/** What is done with the data that come; `peer` is the other end of the connection. */
export interface RelayRules {
  fromClient(data: Buffer, peer: Socket, client: Socket): void
  fromServer(data: Buffer, peer: Socket): void
}

/**
 * Starts a relay to `targetPort` on the loopback interface. A function is asked at each connection: the server may
 * move.
 */
export async function startRelay(
  targetPort: number | (() => number),
  { fromClient, fromServer }: RelayRules,
): Promise<Relay> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const target = connect(typeof targetPort === 'number' ? targetPort : targetPort(), '127.0.0.1')
    for (const [socket, peer] of [[client, target] as const, [target, client] as const]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        peer.destroy()
      })
    }
    client.on('data', (data) => fromClient(data, target, client))
    target.on('data', (data) => fromServer(data, client))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
