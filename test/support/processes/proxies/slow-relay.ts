import type { Socket } from 'node:net'
import { startRelay } from './relay.ts'

/** A TCP relay over which everything takes as long as is said, in both directions. */
export interface SlowRelay {
  readonly port: number
  /** From now on, one way takes so long, in milliseconds. What is on its way keeps its order. */
  slowDown(milliseconds: number): void
  close(): Promise<void>
}

/** Starts a relay to `targetPort` on the loopback interface, without delay at first. */
export async function startSlowRelay(targetPort: number): Promise<SlowRelay> {
  let delayMs = 0
  const dueAt = new WeakMap<Socket, number>()
  const passOn = (data: Buffer, peer: Socket) => {
    const due = Math.max(performance.now() + delayMs, dueAt.get(peer) ?? 0)
    dueAt.set(peer, due)
    setTimeout(() => peer.writable && peer.write(data), due - performance.now())
  }
  const relay = await startRelay(targetPort, { fromClient: passOn, fromServer: passOn })
  return {
    port: relay.port,
    slowDown: (milliseconds) => {
      delayMs = milliseconds
    },
    close: relay.close,
  }
}
