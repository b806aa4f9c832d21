/**
 * The result of `work`, or a rejection when there is none after `milliseconds`. An answer that had already arrived by then, but
 * that a busy event loop had not read yet, still counts.
 */
export async function withDeadline<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_resolve, reject) => {
    // Timers run before sockets are read, immediates after.
    timer = setTimeout(() => setImmediate(() => reject(new Error(`no answer in ${milliseconds} ms`))), milliseconds)
  })
  try {
    return await Promise.race([work, expired])
  } finally {
    clearTimeout(timer)
  }
}
