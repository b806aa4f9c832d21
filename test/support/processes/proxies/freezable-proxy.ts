import { startRelay } from './relay.ts'

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
  let cutWord = ''
  let cutsLeft = 0
  let cuts = 0
  const { port, sockets, close } = await startRelay(targetPort, {
    fromClient: (data, target, client) => {
      if (cutsLeft > 0 && data.includes(cutWord)) {
        cutsLeft--
        cuts++
        client.destroy()
      } else target.write(data)
    },
    fromServer: (data, client) => client.write(data),
  })
  return {
    url: `redis://127.0.0.1:${port}`,
    freeze: () => {
      for (const socket of sockets) socket.pause()
    },
    cutOn: (word, count) => {
      cutWord = word
      cutsLeft = count
    },
    cuts: () => cuts,
    close,
  }
}
