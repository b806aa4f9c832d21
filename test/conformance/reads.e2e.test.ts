/** What GET answers to preconditions, wherever the answer has an entity tag. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../support/clients/http-client.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { makeTwin, type SendRequest, sendAs, type Twin } from '../support/worlds/twins.ts'

let stack: Stack
let send: SendRequest

describeBackends('GET with preconditions', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    send = sendAs(stack.deal, (await stack.logIn('alice')).access)
  })
  afterAll(() => stack.close())

  const get = (path: string, headers = {}) => send({ path, sent: { headers } })

  it.each<[string, (twin: Twin) => string, string | undefined]>([
    ['a deal', ({ path }) => path, '"4"'],
    ['a hold', ({ path }) => `${path}/holded`, '"4"'],
    ['query Deal', ({ dealId }) => `/query/Deal/${dealId}`, '"4"'],
    ['query Deals', () => '/query/Deals/held?limit=3', undefined],
    ['query AssignedTask', () => '/query/AssignedTask/alice', undefined],
    ['query DealHistory', ({ dealId }) => `/query/DealHistory/${dealId}`, undefined],
  ])('%s has an ETag: 304 when it matches, 412 when If-Match has another one', async (_what, pathOf, expected) => {
    const twin = await makeTwin(send, 'HELD')
    const path = pathOf(twin)
    const { headers } = await get(path)
    const etag = String(headers.get('etag'))
    if (expected) expect(etag).toBe(expected)
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const reply = await get(path, { 'if-none-match': known })
      expect([reply.status, reply.text, reply.headers.get('etag')]).toEqual([304, '', etag])
    }
    expect((await get(path, { 'if-none-match': '"x"', 'if-match': etag })).status).toBe(200)
    expectProblem(await get(path, { 'if-match': '"x"' }), 412, 'precondition-failed')
  })

  it('has another ETag when the list changes', async () => {
    const twin = await makeTwin(send, 'OPEN')
    const etagOf = async () => (await get(`/query/DealHistory/${twin.dealId}`)).headers.get('etag')
    const before = await etagOf()
    expect(await etagOf()).toBe(before)
    await send({ path: `${twin.path}/hold`, sent: { json: { reason: 'test' } } })
    expect(await etagOf()).not.toBe(before)
  })
})
