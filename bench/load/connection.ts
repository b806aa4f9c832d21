import { connect, type Socket } from 'node:net'

/** The requests that one keep-alive connection repeats. `{n}` in a request becomes a number that is used once. */
export interface Cycle {
  readonly port: number
  readonly requests: readonly string[]
  /** Pause between a response and the next request, in milliseconds; none when left out. */
  readonly pauseMs?: number
}

/** The responses of all connections. */
export interface Tally {
  readonly byStatus: Map<string, number>
  readonly latenciesMs: number[]
}

/**
 * Sends the requests of `cycle` one after another, each after the complete response to the one before, until `until`
 * (on the clock of `performance.now`). It parses only the necessary parts of a response, so that the load costs less
 * than the server.
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
      const length = lengthOfResponse(received)
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

/** Head and body in bytes; undefined while the head is not complete. Responses without a length have no body. */
function lengthOfResponse(received: string): number | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, headEnd)) ?? []
  return headEnd + 4 + Number(length)
}
