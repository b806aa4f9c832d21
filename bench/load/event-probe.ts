/**
 * The process that measures how soon an event is told of: it sends one command after the other, and follows their events on a stream. Driven
 * by `probe.ts`.
 */
import { Agent, get, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'

/** What is to be measured, and for how long. */
export interface ProbeOrder {
  /** Where commands are sent. */
  readonly port: number
  /** Where the stream is. */
  readonly streamPort: number
  readonly token: string
  readonly dealId: string
  readonly redisUrl: string
  readonly seconds: number
}

/** In milliseconds. */
export interface Percentiles {
  readonly p50: number
  readonly p99: number
}

export interface ProbeResult {
  readonly commands: number
  /** From sending a command to its answer. */
  readonly answer: Percentiles
  /** From sending a command to its event. */
  readonly event: Percentiles
  /** From the answer to the event; negative where the event came first. */
  readonly afterAnswer: Percentiles
  /** From PUBLISH to the message, over Redis alone. */
  readonly publish: Percentiles
}

const channel = 'keyhold-bench-probe'
/** Between two commands. */
const pauseMs = 3

process.on('message', (order: ProbeOrder) => {
  run(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`The probe broke off: ${error}\n`)
      process.exit(1)
    },
  )
})

async function run(order: ProbeOrder): Promise<ProbeResult> {
  const agent = new Agent({ keepAlive: true })
  const stream = await openStream(order)
  const redis = await openChannel(order.redisUrl)
  const until = performance.now() + order.seconds * 1000
  const times: Record<'answer' | 'event' | 'afterAnswer' | 'publish', number[]> = {
    answer: [],
    event: [],
    afterAnswer: [],
    publish: [],
  }
  for (let count = 0; performance.now() < until; count += 1) {
    const sent = performance.now()
    const event = stream.next()
    await send(order, agent, count % 2 === 0 ? 'hold' : 'unhold')
    const answered = performance.now()
    const told = await event
    times.answer.push(answered - sent)
    times.event.push(told - sent)
    times.afterAnswer.push(told - answered)
    times.publish.push(await redis.roundTrip())
    await pause(pauseMs)
  }
  stream.close()
  redis.close()
  agent.destroy()
  const percentiles = ([name, values]: [string, number[]]) => [name, percentilesOf(values)]
  return { commands: times.answer.length, ...Object.fromEntries(Object.entries(times).map(percentiles)) } as ProbeResult
}

const percentilesOf = (values: readonly number[]): Percentiles => {
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
    const sent = request({ host: '127.0.0.1', port, agent, method: 'PUT', path, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${verb} was answered with ${answer.statusCode}`))
      answer.resume().on('end', resolve)
    })
    sent.on('error', reject).end(body)
  })
}

/** A stream of the deal's events; `next` resolves with the time at which the next one came. */
function openStream({ streamPort, token, dealId }: ProbeOrder) {
  let told: (at: number) => void = () => undefined
  const path = `/rest/v1/events?deal=${dealId}`
  type Stream = { next(): Promise<number>; close(): void }
  return new Promise<Stream>((resolve, reject) => {
    const options = { host: '127.0.0.1', port: streamPort, path, headers: { authorization: `Bearer ${token}` } }
    const asked = get(options, (answer) => {
      answer.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('data: ')) told(performance.now())
      })
      const next = () =>
        new Promise<number>((settle) => {
          told = settle
        })
      resolve({ next, close: () => asked.destroy() })
    })
    asked.on('error', reject)
  })
}

async function openChannel(url: string) {
  const [publisher, subscriber] = [new Redis(url), new Redis(url)]
  let heard: () => void = () => undefined
  subscriber.on('message', () => heard())
  await subscriber.subscribe(channel)
  return {
    roundTrip: async () => {
      const sent = performance.now()
      const message = new Promise<void>((resolve) => {
        heard = resolve
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
