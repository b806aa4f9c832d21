import type { Socket } from 'node:net'
import { deferred } from '../../deferred.ts'
import { startRelay } from './relay.ts'

/** A TCP relay that can swallow what a client sends, or hold back what the server answers. */
export interface HoldingProxy {
  readonly port: number
  /**
   * From the next message of a client on that contains `word`: it passes, and no answer passes any more, on any
   * connection.
   */
  holdAnswersAfter(word: string): void
  /** The next message of a client that contains `word`, and all that follows on any connection, goes nowhere. */
  swallowFrom(word: string): void
  /** Resolves when the word has been seen. */
  readonly triggered: Promise<void>
  /** Lets pass what was held back, and everything from now on. */
  release(): void
  close(): Promise<void>
}

/** Starts a relay to `targetPort` on the loopback interface. */
export async function startHoldingProxy(targetPort: number): Promise<HoldingProxy> {
  const held: [Socket, Buffer][] = []
  let watch: { word: string; next: 'hold' | 'swallow' } | undefined
  let state: 'pass' | 'hold' | 'swallow' = 'pass'
  const { promise: triggered, resolve: resolveTriggered } = deferred<void>()

  const forward = (data: Buffer, target: Socket) => {
    if (watch && data.includes(watch.word)) {
      state = watch.next
      watch = undefined
      resolveTriggered()
    }
    if (state !== 'swallow') target.write(data)
  }
  const answer = (data: Buffer, client: Socket) => {
    if (state === 'pass') client.write(data)
    else held.push([client, data])
  }
  const relay = await startRelay(targetPort, { fromClient: forward, fromServer: answer })
  return {
    port: relay.port,
    holdAnswersAfter: (word) => {
      watch = { word, next: 'hold' }
    },
    swallowFrom: (word) => {
      watch = { word, next: 'swallow' }
    },
    triggered,
    release: () => {
      state = 'pass'
      for (const [client, data] of held.splice(0)) client.write(data)
    },
    close: relay.close,
  }
}
