/** Webhooks with odd texts, and webhooks that would outlive the credential of an intruder. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem, type Reply, type Sent } from '../support/clients/http-client.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'

let stack: Stack
let admin: string

const collection = '/rest/v1/webhooks'
const url = 'https://receiver.example/'

const call = async (path: string, status: number, sent: Sent = {}): Promise<Reply> => {
  const reply = await stack.deal.send(path, { token: admin, ...sent })
  expect(reply.status, reply.text).toBe(status)
  return reply
}
const create = async (sent: Sent = {}): Promise<string> =>
  String((await call(collection, 201, { json: { url }, ...sent })).body.id)
const patch = (id: string, json: object, status = 200, sent: Sent = {}) =>
  call(`${collection}/${id}`, status, { method: 'PATCH', json, ...sent })

describeBackends('webhooks', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { logLevel: 'silent' })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  it.each([
    ['NUL', '\u0000'],
    ['half a character', '\ud800'],
    ['a line separator', '\u2028'],
    ['control characters', '\u0001\uffff'],
  ])('encode in their URL what no URL has, and answer no text with 500: %s', async (_, text) => {
    const id = await create()
    const odd = `https://receiver.example/a${text}b?c${text}d`
    const { body } = await patch(id, { url: odd })
    expect(body.url).toBe(new URL(odd).href)
    expect(body.url).toMatch(/^[!-~]+$/)
    const made = await call(collection, 201, { json: { url: odd } })
    expect(made.body.url).toBe(body.url)
    for (const name of ['url', 'description', 'types', 'deals', 'after', 'state', 'odd\u0000']) {
      for (const value of [text, [text]]) {
        const sent: [string, Sent][] = [
          [collection, { json: { url, [name]: value } }],
          [`${collection}/${id}`, { method: 'PATCH', json: { [name]: value } }],
          [`${collection}/${id}/redeliver`, { json: { after: value } }],
          [`${collection}?cursor=%00`, {}],
        ]
        for (const [path, one] of sent) {
          const { status } = await stack.deal.send(path, { token: admin, ...one })
          expect(status, JSON.stringify(one)).toBeLessThan(500)
        }
      }
    }
    expectProblem(
      await patch(id, { url: `https://receiver.${text}example/${text}`, state: 'paused' }, 422),
      422,
      'invalid-value',
    )
    expectProblem(await patch(id, { url: `https://receiver.example/${'é'.repeat(1_000)}` }, 422), 422, 'invalid-value')
  })
})
