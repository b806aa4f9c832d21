/**
 * The process that measures how soon events arrive: it sends one command after another, and follows their events on a
 * stream. `live-events.ts` controls it.
 */
import { Agent, get, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'

/** An order to measure. */
export interface ProbeOrder {
  /** The port for commands. */
  readonly port: number
  /** The port for the stream. */
  readonly streamPort: number
  readonly token: string
  readonly dealId: string
  readonly redisUrl: string
  readonly seconds: number
}

/** Percentiles of times, in milliseconds. */
export interface Percentiles {
  readonly p50: number
  readonly p99: number
}

/** The measured times. */
export interface ProbeResult {
  readonly commands: number
  /** From sending a command to its response. */
  readonly response: Percentiles
  /** From sending a command to its event. */
  readonly event: Percentiles
  /** From the response to the event; negative when the event was first. */
  readonly afterResponse: Percentiles
  /** From PUBLISH to the message, over Redis alone. */
  readonly publish: Percentiles
}

const channel = 'keyhold-bench-probe'
/** Pause between two commands, in milliseconds. */
const pauseMs = 3

process.on('message', (order: ProbeOrder) => {
  run(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`The probe failed: ${error}\n`)
      process.exit(1)
    },
  )
})

async function run(order: ProbeOrder): Promise<ProbeResult> {
  const agent = new Agent({ keepAlive: true })
  const stream = await openStream(order)
  const redis = await openChannel(order.redisUrl)
  const until = performance.now() + order.seconds * 1000
  const times: Record<'response' | 'event' | 'afterResponse' | 'publish', number[]> = {
    response: [],
    event: [],
    afterResponse: [],
    publish: [],
  }
  for (let count = 0; performance.now() < until; count += 1) {
    const sent = performance.now()
    const event = stream.next()
    await send(order, agent, count % 2 === 0 ? 'hold' : 'unhold')
    const responded = performance.now()
    const received = await event
    times.response.push(responded - sent)
    times.event.push(received - sent)
    times.afterResponse.push(received - responded)
    times.publish.push(await redis.roundTrip())
    await pause(pauseMs)
  }
  stream.close()
  redis.close()
  agent.destroy()
  const percentiles = ([name, values]: [string, number[]]) => [name, percentilesOf(values)]
  return {
    commands: times.response.length,
    ...Object.fromEntries(Object.entries(times).map(percentiles)),
  } as ProbeResult
}

function percentilesOf(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).sort()
  return { p50: sorted[Math.floor(sorted.length * 0.5)] ?? 0, p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0 }
}

function send({ port, token, dealId }: ProbeOrder, agent: Agent, verb: string): Promise<void> {
  const body = verb === 'hold' ? '{"reason":"The customer asked for time"}' : '{}'
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': body.length,
  }
  return new Promise((resolve, reject) => {
    const path = `/rest/v1/deals/${dealId}/${verb}`
    const sent = request({ host: '127.0.0.1', port, agent, method: 'PUT', path, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${verb} was answered with ${response.statusCode}`))
      response.resume().on('end', resolve)
    })
    sent.on('error', reject).end(body)
  })
}

/** Opens a stream of the deal's events. `next` resolves with the time when the next event arrives. */
function openStream({ streamPort, token, dealId }: ProbeOrder) {
  let onEvent: (at: number) => void = () => undefined
  const path = `/rest/v1/events?deal=${dealId}`
  type Stream = { next(): Promise<number>; close(): void }
  return new Promise<Stream>((resolve, reject) => {
    const options = { host: '127.0.0.1', port: streamPort, path, headers: { authorization: `Bearer ${token}` } }
    const sent = get(options, (response) => {
      response.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('data: ')) onEvent(performance.now())
      })
      const next = () =>
        new Promise<number>((settle) => {
          onEvent = settle
        })
      resolve({ next, close: () => sent.destroy() })
    })
    sent.on('error', reject)
  })
}

async function openChannel(url: string) {
  const [publisher, subscriber] = [new Redis(url), new Redis(url)]
  let onMessage: () => void = () => undefined
  subscriber.on('message', () => onMessage())
  await subscriber.subscribe(channel)
  return {
    roundTrip: async () => {
      const sent = performance.now()
      const message = new Promise<void>((resolve) => {
        onMessage = resolve
      })
      await publisher.publish(channel, '')
      await message
      return performance.now() - sent
    },
    close: () => {
      publisher.disconnect()
      subscriber.disconnect()
    },
  }
}
