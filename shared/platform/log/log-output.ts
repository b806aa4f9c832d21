import { write, writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

const maxWaitingCharacters = 16 * 1024 * 1024
/** Lines of this time are written together: a write wakes another thread, which takes more time than a line. */
const gatheredMs = 10
const fullPipePauseMs = 10
const lastAttempts = 100

/**
 * Non-blocking log output to a file descriptor. It retries on a full pipe. It drops text on a closed pipe, on a full
 * disk and when 16 MiB wait already. It never ends the process. (The destination of pino itself ends the process on a
 * full disk, and retries for ever when the process ends.)
 */
export function createOutput(descriptor = 1): DestinationStream {
  let waiting = ''
  let isUnderWay = false
  let isEnding = false
  const send = (bytes: Buffer): void =>
    write(descriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(send, fullPipePauseMs, bytes)
      else if (!error && written < bytes.length) send(bytes.subarray(written))
      else {
        isUnderWay = false
        schedule()
      }
    })
  const schedule = () => {
    if (isUnderWay || waiting === '') return
    isUnderWay = true
    setTimeout(next, gatheredMs)
  }
  const next = () => {
    const bytes = Buffer.from(waiting)
    waiting = ''
    send(bytes)
  }
  const sendLast = () => {
    isEnding = true
    writeSynchronously(descriptor, Buffer.from(waiting))
    waiting = ''
  }
  process.on('exit', sendLast)
  return {
    write: (text) => {
      if (waiting.length + text.length > maxWaitingCharacters) return
      waiting += text
      if (isEnding) sendLast()
      else schedule()
    },
  }
}

/** Writes the rest synchronously when the process ends. Gives up after 100 attempts on a full pipe. */
function writeSynchronously(descriptor: number, bytes: Buffer): void {
  const pause = new Int32Array(new SharedArrayBuffer(4))
  let rest = bytes
  for (let attempt = 0; rest.length > 0 && attempt < lastAttempts; attempt += 1) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      Atomics.wait(pause, 0, 0, fullPipePauseMs)
    }
  }
}
