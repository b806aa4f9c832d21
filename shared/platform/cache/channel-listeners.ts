/** Hears a message, and how long it was on its way at most, in milliseconds. */
export type Listener = (message: string, heldUpMs: number) => void

/** One `subscribe` call: a listener and whether it still wants messages. */
interface Subscription {
  readonly listener: Listener
  active: boolean
}

/**
 * Who listens to which channel in this process. A listener that throws does not keep a message from the others; what it threw
 * goes to `onListenerError`.
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

  /** Adds a listener; one function added twice hears everything twice. The returned function removes it again. */
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

  /** Fixes who hears a message now; the returned function delivers it to those of them that have not left by then. */
  addressees(channel: string): Listener {
    const present = [...(this.#channels.get(channel) ?? [])]
    return (message, heldUpMs) => {
      for (const { active, listener } of present) if (active) this.#deliver(listener, message, heldUpMs)
    }
  }

  #deliver(listener: Listener, message: string, heldUpMs: number): void {
    try {
      listener(message, heldUpMs)
    } catch (error) {
      this.#onListenerError(error)
    }
  }
}
