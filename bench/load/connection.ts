import { connect, type Socket } from 'node:net'

/** The requests that one keep-alive connection repeats. `{n}` in a request becomes a number that is used once. */
export interface Cycle {
  readonly port: number
  readonly requests: readonly string[]
  /** Pause between a response and the next request, in milliseconds; none when left out. */
  readonly pauseMs?: number
  /** A value of each response for the next request of the same caller. The requests belong to them in turn. */
  readonly carries?: readonly Carry[]
}

/** A value that replaces `{carried}` in requests. Each response with a new value replaces it. */
export interface Carry {
  /** The member of a JSON response that holds a new value: a text without escapes. */
  readonly member: string
  value: string
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
      if (!isComplete(received)) return
      const now = performance.now()
      tally.latenciesMs.push(now - sentAt)
      const status = received.slice(9, 12)
      tally.byStatus.set(status, (tally.byStatus.get(status) ?? 0) + 1)
      const carry = carryAt(cycle, sent - 1)
      if (carry) carryOver(carry, received)
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

const carryAt = ({ carries = [] }: Cycle, index: number): Carry | undefined => carries[index % carries.length]

function write(socket: Socket, cycle: Cycle, index: number): void {
  const { requests } = cycle
  let request = requests[index % requests.length] ?? ''
  counter += 1
  if (request.includes('{n}')) request = request.replaceAll('{n}', String(counter))
  const carry = carryAt(cycle, index)
  if (carry) request = request.replace('{carried}', carry.value)
  socket.write(request, 'latin1')
}

function carryOver(carry: Carry, received: string): void {
  const name = `"${carry.member}":"`
  const start = received.indexOf(name)
  if (start >= 0) carry.value = received.slice(start + name.length, received.indexOf('"', start + name.length))
}

/** Whether head and body are complete. A response without a length has no body, unless it is sent in chunks. */
function isComplete(received: string): boolean {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return false
  const head = received.slice(0, headEnd)
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  if (length !== undefined) return received.length >= headEnd + 4 + Number(length)
  return !/\r\ntransfer-encoding: chunked/i.test(head) || received.endsWith('\r\n0\r\n\r\n')
}
