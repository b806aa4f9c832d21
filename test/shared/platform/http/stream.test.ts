import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../shared/platform/clock.ts'
import { type Listening, listen } from '../../../../shared/platform/http/server/listen.ts'
import { createApp } from '../../../../shared/platform/http/server/routes.ts'
import type { BodyStream, StreamBody } from '../../../../shared/platform/http/stream.ts'
import { createIdSource } from '../../../../shared/platform/ids.ts'
import { createLog } from '../../../../shared/platform/log/log.ts'
import { sharedProblems } from '../../../../shared/protocol/problems/both-servers.ts'

const ids = createIdSource(systemClock)
let server: Listening
let lines: string[]
let bodies: { readonly stream: BodyStream; readonly done: Promise<void> }[]
/** What the route's body does. */
let body: StreamBody

const untilEnded = ({ ended }: BodyStream): Promise<unknown> => once(ended, 'abort')

function get(method = 'GET'): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request({ port: server.port, host: '127.0.0.1', path: '/stream', method, agent: false }, resolve)
    sent.on('error', reject).end()
  })
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  return text
}

describe('a streamed answer', () => {
  beforeEach(async () => {
    lines = []
    bodies = []
    const log = createLog({ level: 'trace', format: 'json' }, { write: (line) => void lines.push(line) })
    const observed: StreamBody = (stream) => {
      const done = body(stream)
      bodies.push({ stream, done })
      return done
    }
    const answer = { status: 200, headers: { 'content-type': 'text/plain', vary: ['a', 'b'] }, body: observed }
    const app = createApp({
      routes: [{ methods: ['GET'], path: '/stream', handle: () => answer }],
      problems: sharedProblems,
      schemes: [],
      transport: { trustProxy: { hops: 0 }, allowInsecureHttp: false },
      origin: 'http://test',
      clock: systemClock,
      ids,
      log,
    })
    server = await listen({
      app,
      host: '127.0.0.1',
      port: 0,
      origin: 'http://test',
      publicOrigins: {},
      problems: sharedProblems,
      ids,
      log,
    })
  })
  afterEach(() => server.drain({ lastRequestMs: 0, graceMs: 0 }))

  it('sends its head at once and its pieces as they come, and is logged once', async () => {
    let go: () => void = () => undefined
    body = async ({ write }) => {
      await new Promise<void>((resolve) => {
        go = resolve
      })
      write('one ')
      await pause(10)
      write(Buffer.from('two'))
    }
    const answer = await get()
    expect(answer.statusCode).toBe(200)
    expect(answer.headers).toMatchObject({ 'content-type': 'text/plain', 'transfer-encoding': 'chunked', vary: 'a, b' })
    expect(answer.headers['x-request-id']).toBeDefined()
    go()
    expect(await textOf(answer)).toBe('one two')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ route: '/stream', status: 200 })
  })

  it('does not begin for HEAD', async () => {
    body = async ({ write }) => void write('never')
    const answer = await get('HEAD')
    expect(answer.headers['content-type']).toBe('text/plain')
    expect(await textOf(answer)).toBe('')
    expect(bodies).toEqual([])
  })

  it('is aborted when its client is gone', async () => {
    body = async (stream) => {
      stream.write('hello')
      await untilEnded(stream)
    }
    const answer = await get()
    answer.destroy()
    await bodies[0]?.done
    expect(bodies[0]?.stream.write('too late')).toBe(true)
  })

  it('is cut off when its body fails, with a line in the log', async () => {
    body = async ({ write }) => {
      write('half')
      throw new Error('broken')
    }
    await expect(textOf(await get())).rejects.toThrow('aborted')
    expect(lines.map((line) => JSON.parse(line).msg)).toContain('A stream was cut off')
  })

  it('waits for a slow client, and continues with it', async () => {
    const piece = 'x'.repeat(100_000)
    let written = 0
    body = async (stream) => {
      for (; written < 300; written += 1) if (!stream.write(piece)) await stream.drained()
    }
    const answer = await get()
    answer.pause()
    await expect.poll(() => bodies[0]?.stream.waitingBytes()).toBeGreaterThan(0)
    await pause(200)
    expect(written).toBeLessThan(200)
    expect(bodies[0]?.stream.waitingBytes()).toBeLessThan(300_000)
    expect((await textOf(answer)).length).toBe(300 * piece.length)
    expect(written).toBe(300)
  })

  it('can cut off a client that does not read', async () => {
    body = async (stream) => {
      while (stream.write('x'.repeat(100_000)));
      stream.cut()
      await stream.drained()
      expect(stream.ended.aborted || (await untilEnded(stream))).toBeTruthy()
    }
    const answer = await get()
    answer.pause()
    await bodies[0]?.done
    await expect(textOf(answer)).rejects.toThrow()
  })

  it('ends at once when the server drains, whether its client reads or not', async () => {
    body = async (stream) => {
      stream.write('hello')
      await untilEnded(stream)
      // What it still does takes no part in the end of the answer.
      await pause(100)
    }
    const reading = await get()
    const text = textOf(reading)
    body = async (stream) => {
      while (stream.write('x'.repeat(100_000)));
      await untilEnded(stream)
    }
    const stuck = await get()
    stuck.pause()
    stuck.on('error', () => undefined)
    await pause(50)
    const began = performance.now()
    await server.drain()
    expect(performance.now() - began).toBeLessThan(5_000)
    expect(await text).toBe('hello')
    await Promise.all(bodies.map(({ done }) => done))
  })
})
