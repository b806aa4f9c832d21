import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { createGuardedPost, type GuardedPost, type Resolve } from '../../../../shared/platform/webhooks/guarded-post.ts'
import { loopbackNetworks } from '../../../../shared/platform/webhooks/reachable-address.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function listen(listener: RequestListener): Promise<number> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function open(options: { resolve?: Resolve; allowed?: typeof loopbackNetworks } = {}): GuardedPost {
  const post = createGuardedPost({ allowed: loopbackNetworks, timeoutMs: 200, ...options })
  closing.push(() => post.close())
  return post
}

const to = (url: string) => ({ url, fields: { 'content-type': 'text/plain' }, body: 'text' })

/** A resolver whose answers change from one call to the next. */
const resolving =
  (...answers: readonly (readonly string[])[]): Resolve =>
  (_, callback) => {
    const addresses = answers.length > 1 ? answers[calls++ % answers.length] : answers[0]
    callback(
      null,
      (addresses ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
let calls = 0

it('sends the body, and answers the status', async () => {
  const bodies: string[] = []
  const port = await listen(async (request, response) => {
    for await (const chunk of request) bodies.push(String(chunk))
    response.writeHead(201).end('ignored')
  })
  const post = open()
  for (let count = 0; count < 3; count += 1) {
    expect(await post.send(to(`http://127.0.0.1:${port}/`))).toEqual({ status: 201, retryAfter: undefined })
  }
  expect(bodies).toEqual(['text', 'text', 'text'])
})

it('refuses an address that is not allowed, written in the URL or behind a name', async () => {
  let requests = 0
  const port = await listen((_, response) => {
    requests += 1
    response.end()
  })
  const strict = open({ allowed: [] })
  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '0x7f000001', 'localhost']) {
    const outcome = await strict.send(to(`https://${host}:${port}/`))
    expect({ host, outcome }).toEqual({ host, outcome: { failure: 'address-refused' } })
  }
  const inside = open({ allowed: [], resolve: resolving(['10.0.0.1', '::1', '169.254.169.254']) })
  expect(await inside.send(to(`https://receiver.test:${port}/`))).toEqual({ failure: 'address-refused' })
  expect(requests).toBe(0)
})

it('refuses a name that leads inside later, and connects to none of its other addresses', async () => {
  const port = await listen((_, response) => response.writeHead(200, { connection: 'close' }).end())
  calls = 0
  const post = open({ resolve: resolving(['127.0.0.1'], ['10.0.0.1'], ['10.0.0.1', '127.0.0.1']) })
  const outcomes = []
  for (let count = 0; count < 3; count += 1) outcomes.push(await post.send(to(`http://receiver.test:${port}/`)))
  expect(outcomes).toEqual(
    [{ status: 200 }, { failure: 'address-refused' }, { status: 200 }].map((one) =>
      'status' in one ? { ...one, retryAfter: undefined } : one,
    ),
  )
})

it('follows no redirect', async () => {
  let requests = 0
  const port = await listen((_, response) => {
    requests += 1
    response.writeHead(307, { location: '/again' }).end()
  })
  expect(await open().send(to(`http://127.0.0.1:${port}/`))).toMatchObject({ status: 307 })
  expect(requests).toBe(1)
})

it('waits no longer than it may, for a status or for a connection', async () => {
  const silent = await listen(() => undefined)
  const post = open()
  expect(await post.send(to(`http://127.0.0.1:${silent}/`))).toEqual({ failure: 'timeout' })
  expect(await open({ resolve: () => undefined }).send(to('http://receiver.test/'))).toEqual({ failure: 'timeout' })
})

it('reads little of an answer, and takes its status', async () => {
  let written = 0
  const port = await listen((_, response) => {
    response.writeHead(200)
    const timer = setInterval(() => {
      written += 4_096
      response.write('x'.repeat(4_096))
    }, 1)
    response.on('close', () => clearInterval(timer))
  })
  expect(await open().send(to(`http://127.0.0.1:${port}/`))).toMatchObject({ status: 200 })
  await expect.poll(() => written).toBeGreaterThan(16_384)
  const before = written
  await expect.poll(() => written - before).toBeLessThan(200_000)
})

it('says why there is no answer', async () => {
  const tcp = createTcpServer((socket) => socket.end('nonsense\r\n\r\n'))
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
  closing.push(() => tcp.close())
  const { port } = tcp.address() as AddressInfo
  const post = open()
  expect(await post.send(to(`http://127.0.0.1:${port}/`))).toEqual({ failure: 'invalid-response' })
  expect(await post.send(to(`https://127.0.0.1:${port}/`))).toEqual({ failure: 'tls-failed' })
  const fails: Resolve = (_, callback) => callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), [])
  expect(await open({ resolve: fails }).send(to('https://receiver.test/'))).toEqual({ failure: 'name-not-found' })
  const gone = await listen(() => undefined)
  for (const close of closing.splice(-1)) close()
  expect(await post.send(to(`http://127.0.0.1:${gone}/`))).toEqual({ failure: 'connection-failed' })
})

it('sends again when a kept connection ends just then', async () => {
  let requests = 0
  const port = await listen((request, response) => {
    requests += 1
    if (requests % 2 === 0) return void request.socket.destroy()
    response.end()
  })
  const post = open()
  const outcomes = []
  for (let count = 0; count < 4; count += 1) outcomes.push(await post.send(to(`http://127.0.0.1:${port}/`)))
  expect(outcomes.map((one) => 'status' in one && one.status)).toEqual([200, 200, 200, 200])
})
