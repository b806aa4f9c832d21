import { createServer, type IncomingMessage, request as requestOf, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receivedByNode } from '../../../verify/src/requests/node-request.ts'

const maxBytes = 100_000

describe('a message of node:http', () => {
  let server: Server
  let url: string
  /** What is done with the next message; its result is the answer. */
  let work: (incoming: IncomingMessage) => Promise<unknown>

  beforeAll(async () => {
    server = createServer((incoming, outgoing) => {
      const answer = (result: unknown) => void outgoing.end(JSON.stringify(result))
      work(incoming).then(answer, (error: Error & { code?: string }) => answer({ error: error.code ?? error.name }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  const readTwice = async (incoming: IncomingMessage) => {
    const first = await receivedByNode({ incoming }, maxBytes).readBody()
    return { first: first.toString(), second: await text(incoming) }
  }
  const post = async (body: string) => (await fetch(url, { method: 'POST', body })).json()

  it.each([0, 1, 5_000, 99_999])('gives back a body of %i bytes', async (length) => {
    work = readTwice
    const body = 'x'.repeat(length)
    expect(await post(body)).toEqual({ first: body, second: body })
  })

  it('gives back a body that comes in chunks, slowly, to a reader that listens for data', async () => {
    work = async (incoming) => {
      const first = await receivedByNode({ incoming }, maxBytes).readBody()
      const pieces: Buffer[] = []
      await new Promise((resolve) => incoming.on('data', (piece) => pieces.push(piece)).on('end', resolve))
      return { first: first.toString(), second: Buffer.concat(pieces).toString() }
    }
    const answered = new Promise<string>((resolve) => {
      const sent = requestOf(url, { method: 'POST' }, async (response) => resolve(await text(response)))
      sent.write('one ')
      setTimeout(() => sent.write('two '), 30)
      setTimeout(() => sent.end('three'), 60)
    })
    expect(JSON.parse(await answered)).toEqual({ first: 'one two three', second: 'one two three' })
  })

  it('gives back a body that arrived before it was read', async () => {
    work = async (incoming) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      return readTwice(incoming)
    }
    expect(await post('early')).toEqual({ first: 'early', second: 'early' })
  })

  it('refuses a body that is too large', async () => {
    work = readTwice
    expect(await post('x'.repeat(maxBytes + 1))).toEqual({ error: 'body-too-large' })
  })

  it('says that the body was read before', async () => {
    work = async (incoming) => {
      await text(incoming)
      return readTwice(incoming)
    }
    expect(await post('read')).toEqual({ error: 'TypeError' })
  })

  it('fails when the client goes away', async () => {
    const failed = new Promise((resolve) => {
      work = async (incoming) => readTwice(incoming).catch((error: { code?: string }) => resolve(error.code))
    })
    const sent = requestOf(url, { method: 'POST', headers: { 'content-length': '10' } })
    sent.on('error', () => undefined)
    sent.write('half')
    setTimeout(() => sent.destroy(), 50)
    expect(await failed).toBe('malformed-request')
  })

  it('keeps the target, and each line of a field', async () => {
    work = async (incoming) => {
      const { method, target, header, headerLines } = receivedByNode({ incoming, target: '/a/b?c=%20' }, maxBytes)
      return { method, target, joined: header('x-a'), lines: headerLines('x-a') }
    }
    const answered = new Promise<string>((resolve) => {
      requestOf(url, { headers: { 'X-A': ['1', '2'] } }, async (response) => resolve(await text(response))).end()
    })
    expect(JSON.parse(await answered)).toEqual({
      method: 'GET',
      target: '/a/b?c=%20',
      joined: '1, 2',
      lines: ['1', '2'],
    })
  })
})
