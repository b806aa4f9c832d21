import { afterAll, beforeAll, expect, it } from 'vitest'
import { send } from '../../support/clients/http-client.ts'
import { messageSignatureClient } from '../../support/clients/scheme-clients/message-signature.ts'
import { signedRequestClient } from '../../support/clients/scheme-clients/signed-request.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack

describeEmbedded('clients that sign', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())

  it.each([
    ['in the query', signedRequestClient],
    ['in header fields', messageSignatureClient],
  ])('%s: equal requests in one second are several requests', async (_, client) => {
    const credential = await client.open(stack, 'alice')
    const ask = async (method: string, path: string, body?: string) => {
      const plain = { method, url: stack.deal.url + path, ...(body === undefined ? {} : { body }) }
      const { url, headers } = await credential(plain)
      return send(url, { ...plain, headers: { 'content-type': 'application/json', ...headers } })
    }
    const body = JSON.stringify({ name: 'again', price: 1 })
    const statuses = []
    for (let count = 0; count < 3; count += 1) statuses.push((await ask('POST', '/rest/v1/deals/', body)).status)
    expect(statuses).toEqual([201, 201, 201])
    const { body: page } = await ask('GET', '/rest/v1/deals?limit=2&q=again')
    const [first] = page.items as { id: string }[]
    expect((await ask('DELETE', `/rest/v1/deals/${first?.id}`)).status).toBe(204)
  })
})
