/** The clock of a client. It can be set by the time of a server, so that signatures are not refused for their time. */
export class ServerClock {
  #aheadMs = 0

  /** Milliseconds since the Unix epoch, as the servers count them. */
  now(): number {
    return Date.now() + this.#aheadMs
  }

  /** Sets the clock by the time of a server, in milliseconds since the Unix epoch. */
  set(serverMs: number): void {
    this.#aheadMs = serverMs - Date.now()
  }
}

/** Waits. @throws the reason of the signal when it aborts first */
export const pause = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  waitFor(new Promise((resolve) => setTimeout(resolve, milliseconds)), signal)

/** Waits for work that several callers may share. The signal ends the waiting, and not the work. */
export async function waitFor<Result>(work: Promise<Result> | Result, signal?: AbortSignal): Promise<Result> {
  let stop: () => void = () => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal?.reason)
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop)
  })
  return Promise.race([work, aborted]).finally(() => signal?.removeEventListener('abort', stop))
}
