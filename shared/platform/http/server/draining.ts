import { setTimeout as pause } from 'node:timers/promises'

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
