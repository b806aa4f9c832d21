import { write, writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

const maxWaitingCharacters = 16 * 1024 * 1024
const fullPipePauseMs = 10
const lastAttempts = 100

/**
 * Writes to a file descriptor, which nobody waits for and which ends nothing: what a full pipe does not take yet is tried again, what a
 * closed pipe or a full disk does not take is lost, and so is what comes while too much waits. (pino's own destination ends the process on
 * a full disk, and tries for ever at its end.)
 */
export function createOutput(descriptor = 1): DestinationStream {
  let waiting = ''
  let isWriting = false
  let isEnding = false
  const send = (bytes: Buffer): void =>
    write(descriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(send, fullPipePauseMs, bytes)
      else if (!error && written < bytes.length) send(bytes.subarray(written))
      else {
        isWriting = false
        next()
      }
    })
  const next = () => {
    if (isWriting || waiting === '') return
    const bytes = Buffer.from(waiting)
    waiting = ''
    isWriting = true
    send(bytes)
  }
  const sendLast = () => {
    isEnding = true
    writeAtOnce(descriptor, Buffer.from(waiting))
    waiting = ''
  }
  process.on('exit', sendLast)
  return {
    write: (text) => {
      if (waiting.length + text.length > maxWaitingCharacters) return
      waiting += text
      if (isEnding) sendLast()
      else next()
    },
  }
}

/** What there is to say when the process ends. */
function writeAtOnce(descriptor: number, bytes: Buffer): void {
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
