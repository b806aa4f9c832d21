/** Gets a message and the longest time that it may have travelled, in milliseconds. */
export type Listener = (message: string, maxDelayMs: number) => void

/** One `subscribe` call: a listener, and whether it is still subscribed. */
interface Subscription {
  readonly listener: Listener
  active: boolean
}

/**
 * The listeners of each channel in this process. If a listener throws, `onListenerError` gets the error, and the others
 * get the message.
 */
export class ChannelListeners {
  readonly #channels = new Map<string, Set<Subscription>>()
  readonly #onListenerError: (error: unknown) => void

  constructor(onListenerError: (error: unknown) => void) {
    this.#onListenerError = onListenerError
  }

  /** The channels that have a listener. */
  channels(): string[] {
    return [...this.#channels.keys()]
  }

  /**
   * Adds a listener. A function that is added twice gets every message twice. The returned function removes the
   * listener.
   */
  add(channel: string, listener: Listener): () => void {
    const subscription: Subscription = { listener, active: true }
    const present = this.#channels.get(channel) ?? new Set()
    this.#channels.set(channel, present.add(subscription))
    return () => {
      subscription.active = false
      present.delete(subscription)
      if (present.size === 0 && this.#channels.get(channel) === present) this.#channels.delete(channel)
    }
  }

  /**
   * Fixes the recipients of a message now. The returned function delivers it to those that are still subscribed then.
   */
  addressees(channel: string): Listener {
    const present = [...(this.#channels.get(channel) ?? [])]
    return (message, maxDelayMs) => {
      for (const { active, listener } of present) if (active) this.#deliver(listener, message, maxDelayMs)
    }
  }

  #deliver(listener: Listener, message: string, maxDelayMs: number): void {
    try {
      listener(message, maxDelayMs)
    } catch (error) {
      this.#onListenerError(error)
    }
  }
}
