/** A receiver of webhooks on this machine, which verifies every message with the library that receivers use. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

/** A message that came, whatever it was answered. */
export interface Received {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  /** The status that it was answered with. */
  readonly status: number
  readonly at: number
}

/** An answer; `hang`: none at all. */
export type ReceiverAnswer = { readonly status: number; readonly headers?: Readonly<Record<string, string>> } | 'hang'

/** The receiver. */
export interface WebhookReceiver {
  readonly url: string
  readonly received: readonly Received[]
  /** The messages that were taken, each once, in the order in which they first came. */
  taken(): Received[]
  /** Messages that did not verify. */
  readonly faults: readonly string[]
  /** The deals that had two messages under way at one time. */
  readonly parallel: ReadonlySet<string>
  /** The secrets that it knows; any may have signed. */
  readonly secrets: string[]
  /** Decides what is answered from now on; it may wait first. */
  answer: (message: Omit<Received, 'status'>) => ReceiverAnswer | Promise<ReceiverAnswer>
  close(): Promise<void>
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

/** Starts a receiver. `checksTime: false` for servers whose clock was moved. */
export async function startReceiver({ checksTime = true } = {}): Promise<WebhookReceiver> {
  const received: Received[] = []
  const faults: string[] = []
  const parallel = new Set<string>()
  const underWay = new Set<string>()
  const secrets: string[] = []
  const verify = (body: string, headers: Record<string, string>) => {
    const known = checksTime ? headers : { ...headers }
    const errors = secrets.map((secret) => {
      try {
        if (checksTime) new Webhook(secret).verify(body, known)
        else requireSignature(secret, body, headers)
        return undefined
      } catch (error) {
        return String(error)
      }
    })
    if (!errors.includes(undefined)) faults.push(`${headers['webhook-id']}: ${errors.join(' ') || 'no secret known'}`)
  }
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await bodyOf(request)
    const headers = request.headers as Record<string, string>
    verify(body, headers)
    const { type, timestamp, data } = JSON.parse(body)
    const message = { id: String(headers['webhook-id']), type, timestamp, data, headers, at: Date.now() }
    const deal = String(data.subject ?? '')
    if (underWay.has(deal)) parallel.add(deal)
    underWay.add(deal)
    const answered = await receiver.answer(message)
    underWay.delete(deal)
    if (answered === 'hang') return void received.push({ ...message, status: 0 })
    received.push({ ...message, status: answered.status })
    response.writeHead(answered.status, answered.headers).end()
  }
  const server = createServer((request, response) => void take(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    faults,
    parallel,
    secrets,
    taken: () => {
      const first = new Map<string, Received>()
      for (const one of received)
        if (one.status >= 200 && one.status < 300 && !first.has(one.id)) first.set(one.id, one)
      return [...first.values()]
    },
    answer: () => ({ status: 204 }),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}

/** The library refuses times that are far from the machine's own. */
function requireSignature(secret: string, body: string, headers: Record<string, string>): void {
  const at = new Date(Number(headers['webhook-timestamp']) * 1000)
  const expected = new Webhook(secret).sign(String(headers['webhook-id']), at, body)
  if (!String(headers['webhook-signature']).split(' ').includes(expected)) throw new Error('no matching signature')
}
