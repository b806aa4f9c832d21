import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP relay on which connections can be made to fail in the ways that a network does. */
export interface FreezableProxy {
  readonly url: string
  /** From now on nothing passes on the connections that exist, and neither end is told; new ones work. */
  freeze(): void
  /** Cuts the next `count` connections over which the client sends `word`, before Redis sees it. */
  cutOn(word: string, count: number): void
  /** How often a connection was cut by `cutOn`. */
  cuts(): number
  close(): Promise<void>
}

/** Starts a relay to `targetPort` on the loopback interface. */
export async function startFreezableProxy(targetPort: number): Promise<FreezableProxy> {
  const sockets = new Set<Socket>()
  let cutWord = ''
  let cutsLeft = 0
  let cuts = 0
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1')
    for (const [socket, peer] of [[client, target] as const, [target, client] as const]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        peer.destroy()
      })
    }
    client.on('data', (data) => {
      if (cutsLeft > 0 && data.includes(cutWord)) {
        cutsLeft--
        cuts++
        client.destroy()
      } else target.write(data)
    })
    target.on('data', (data) => client.write(data))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    freeze: () => {
      for (const socket of sockets) socket.pause()
    },
    cutOn: (word, count) => {
      cutWord = word
      cutsLeft = count
    },
    cuts: () => cuts,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
