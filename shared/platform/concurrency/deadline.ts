/** The error of `withDeadline` when there is no answer in time. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed'
}

/**
 * The result of `work`. An answer that has arrived in time still counts if a busy event loop reads it late.
 *
 * @throws DeadlinePassed when there is no result after `milliseconds`
 */
export function withDeadline<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    // Timers run before sockets are read, immediates after.
    const expire = () => setImmediate(() => reject(new DeadlinePassed(`no answer in ${milliseconds} ms`)))
    const timer = setTimeout(expire, milliseconds)
    work.finally(() => clearTimeout(timer)).then(resolve, reject)
  })
}
