import { connect, type Socket } from 'node:net'

/** What one keep-alive connection sends, over and over; `{n}` in a request becomes a number that is never used again. */
export interface Cycle {
  readonly port: number
  readonly requests: readonly string[]
  /** How long it waits between an answer and the next request, in milliseconds; not at all when left out. */
  readonly pauseMs?: number
}

/** What came back over one connection. */
export interface Tally {
  readonly byStatus: Map<string, number>
  readonly latenciesMs: number[]
}

/**
 * Sends the requests of `cycle` one after the other, each when the answer to the one before is complete, until `until` (on the
 * clock of `performance.now`). Reads of an answer only what it must, so that the server stays the busier of the two.
 */
export function drive(cycle: Cycle, tally: Tally, until: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: cycle.port, host: '127.0.0.1', noDelay: true })
    let sent = 0
    let sentAt = 0
    let received = ''
    const send = () => {
      sentAt = performance.now()
      write(socket, cycle, sent++)
    }
    socket.on('connect', send)
    socket.on('data', (chunk) => {
      received = received === '' ? chunk.toString('latin1') : received + chunk.toString('latin1')
      const length = lengthOfAnswer(received)
      if (length === undefined || received.length < length) return
      const now = performance.now()
      tally.latenciesMs.push(now - sentAt)
      const status = received.slice(9, 12)
      tally.byStatus.set(status, (tally.byStatus.get(status) ?? 0) + 1)
      received = ''
      if (now >= until) socket.end()
      else if (cycle.pauseMs === undefined) send()
      else setTimeout(send, cycle.pauseMs)
    })
    socket.on('error', reject)
    socket.on('close', resolve)
  })
}

let counter = 0

function write(socket: Socket, { requests }: Cycle, index: number): void {
  const request = requests[index % requests.length] ?? ''
  counter += 1
  socket.write(request.includes('{n}') ? request.replaceAll('{n}', String(counter)) : request, 'latin1')
}

/** Head and body in bytes; undefined while the head is not complete. Answers without a length have no body. */
function lengthOfAnswer(received: string): number | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, headEnd)) ?? []
  return headEnd + 4 + Number(length)
}
