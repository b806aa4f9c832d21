/** The events iterator of the typed client: resume after a broken connection, `reset`, the end by a signal. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, createKeyhold, events, isReset, type KeyholdEvent } from '../../client/src/index.ts'
import { type Relay, startRelay } from '../support/processes/proxies/relay.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../support/worlds/stack.ts'

describeEmbedded('the events of the typed client', (openBackend) => {
  let stack: Stack
  let relay: Relay

  beforeAll(async () => {
    stack = await openStack(openBackend)
    const pass = { fromClient: (data: Buffer, server: { write(data: Buffer): unknown }) => void server.write(data) }
    relay = await startRelay(stack.deal.port, { ...pass, fromServer: (data, client) => void client.write(data) })
  })

  afterAll(async () => {
    await relay.close()
    await stack.close()
  })

  const clientOf = (username: string) =>
    createKeyhold({
      authUrl: stack.auth.url,
      dealUrl: `http://127.0.0.1:${relay.port}`,
      credential: bearer({ username, password: passwordOf(username) }),
    })

  it('come once each over connections that break, after an expired token too', async () => {
    const keyhold = clientOf('alice')
    const body = { name: 'followed', price: 1 }
    const { data: deal } = await keyhold.deals.POST('/rest/v1/deals', { body })
    const params = { path: { id: deal.id } }
    const rename = (name: string) =>
      keyhold.deals.PUT('/rest/v1/deals/{id}/rename', { params, body: { newName: name } })
    const ending = new AbortController()
    const seen: KeyholdEvent[] = []
    let interruptions = 0
    const onInterruption = () => {
      interruptions += 1
    }
    const options = { deal: deal.id, after: '0', signal: ending.signal, onInterruption }
    for await (const event of events(keyhold, options)) {
      seen.push(event)
      if (seen.length === 2) stack.clock.advanceSeconds(3600)
      if (seen.length < 3) {
        for (const socket of relay.sockets) socket.destroy()
        await rename(`followed ${seen.length}`)
      } else ending.abort()
    }
    expect(seen.map(({ type }) => type)).toEqual(['deal.created', ...Array(2).fill('deal.renamed')])
    const sequences = seen.map((event) => (isReset(event) ? 0 : event.data.sequence))
    expect(sequences).toEqual([1, 2, 3])
    expect(interruptions).toBeGreaterThan(0)
  })

  it('throw a refusal that stays', async () => {
    const keyhold = clientOf('dave')
    await expect(events(keyhold).next()).rejects.toMatchObject({ code: 'missing-right' })
    await expect(events(clientOf('alice'), { after: 'nonsense' }).next()).rejects.toMatchObject({ status: 400 })
  })
})

describe('the events iterator', () => {
  it('gives reset, goes on after it, and takes the stream in pieces', async () => {
    const asked: (string | undefined)[] = []
    const server = createServer((request, response) => {
      asked.push(request.headers['last-event-id']?.toString())
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (asked.length === 1) {
        for (const piece of [
          'retry: 1000\n\n:\n\nid: 5-a\nev',
          'ent: reset\ndata: {"posi',
          'tion":"5-a"}\n',
          '\nid: 9',
        ]) {
          response.write(piece)
        }
        response.end()
      } else response.write('id: 6-a\r\nevent: deal.held\r\ndata: {"subject":\r\ndata: "x"}\r\n\r\n')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const seen: KeyholdEvent[] = []
    for await (const event of events(createKeyhold({ authUrl: url, dealUrl: url }), { after: '4-b' })) {
      seen.push(event)
      if (seen.length === 2) break
    }
    expect(seen).toEqual([
      { id: '5-a', type: 'reset', data: { position: '5-a' } },
      { id: '6-a', type: 'deal.held', data: { subject: 'x' } },
    ])
    expect(asked).toEqual(['4-b', '5-a'])
    server.closeAllConnections()
    server.close()
  })
})
