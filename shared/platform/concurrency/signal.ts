/** What somebody waits for until another one raises it. A raise before the wait is not lost. */
export class Signal {
  #isRaised = false
  #resume: () => void = () => undefined

  /** Ends the wait under way, else the next one at once. */
  raise(): void {
    this.#isRaised = true
    this.#resume()
  }

  /** Forgets a raise: what follows sees what it was raised for. */
  clear(): void {
    this.#isRaised = false
  }

  /** Waits for a raise, at most `timeoutMs` milliseconds. The wait does not keep the process alive. */
  async wait(timeoutMs?: number): Promise<void> {
    if (!this.#isRaised) {
      await new Promise<void>((resolve) => {
        const timer = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs).unref()
        this.#resume = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#isRaised = false
  }
}
