import { connect } from 'node:net'
import { pollMs } from '../campaign.ts'
import { membersOf, type Reply } from './http-client.ts'

/**
 * Sends bytes as they are over a connection of their own and reads what comes back until the other end closes; ask it
 * to, with `Connection: close`. When nothing happens for `idleMs`, the sending side is closed: Node.js then takes a
 * request that is not whole for malformed, and drops one whose answer is under way. Undefined when nothing came back.
 */
export async function sendRaw(port: number, bytes: string | Uint8Array, idleMs = 3000): Promise<Reply | undefined> {
  const received = await exchange(port, bytes, idleMs)
  return received.length === 0 ? undefined : parseReply(received)
}

function exchange(port: number, bytes: string | Uint8Array, idleMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const closeSending = setTimeout(() => socket.end(), idleMs)
    const giveUp = setTimeout(() => {
      socket.destroy()
      reject(new Error(`no end of the answer after ${pollMs} ms; so far: ${Buffer.concat(chunks)}`))
    }, pollMs)
    const finish = () => {
      clearTimeout(closeSending)
      clearTimeout(giveUp)
      socket.destroy()
      resolve(Buffer.concat(chunks))
    }
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      closeSending.refresh()
    })
    socket.on('end', finish)
    // The other end may have answered and closed while bytes were still under way.
    socket.on('error', finish)
    socket.write(bytes)
  })
}

/** The first answer in `bytes`. @throws Error when it does not begin with a status line and header fields */
function parseReply(bytes: Buffer): Reply {
  const whole = bytes.toString('latin1')
  const end = whole.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = whole.slice(0, end).split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]
  if (end < 0 || status === undefined) throw new Error(`not an HTTP answer: ${whole.slice(0, 200)}`)
  const headers = new Headers()
  for (const line of lines) headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim())
  const rest = bytes.subarray(Buffer.byteLength(whole.slice(0, end + 4), 'latin1'))
  const text = bodyOf(rest, headers).toString('utf8')
  return { status: Number(status), headers, text, body: membersOf(text) }
}

function bodyOf(rest: Buffer, headers: Headers): Buffer {
  const length = headers.get('content-length')
  if (length !== null) return rest.subarray(0, Number(length))
  return headers.get('transfer-encoding') === 'chunked' ? joinChunks(rest) : rest
}

function joinChunks(rest: Buffer): Buffer {
  const chunks: Buffer[] = []
  let at = 0
  for (;;) {
    const end = rest.indexOf('\r\n', at)
    const size = end < 0 ? 0 : Number.parseInt(rest.toString('latin1', at, end), 16)
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(rest.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
