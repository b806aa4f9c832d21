/** Why `withDeadline` rejects when there is no answer. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed'
}

/**
 * The result of `work`, or a rejection when there is none after `milliseconds`. An answer that had already arrived by then, but
 * that a busy event loop had not read yet, still counts.
 */
export const withDeadline = <T>(work: Promise<T>, milliseconds: number): Promise<T> =>
  new Promise((resolve, reject) => {
    // Timers run before sockets are read, immediates after.
    const expire = () => setImmediate(() => reject(new DeadlinePassed(`no answer in ${milliseconds} ms`)))
    const timer = setTimeout(expire, milliseconds)
    work.finally(() => clearTimeout(timer)).then(resolve, reject)
  })
