/** What callers do with both servers, whatever release each of them has. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { cookieSetBy, formOf } from '../../support/clients/pages/sign-in.ts'
import { clientKeyOf, signUrl } from '../../support/clients/signing.ts'
import { eventually } from '../../support/eventually.ts'
import { logIn, type TestServer } from '../../support/worlds/stack.ts'
import { startReceiver } from '../../support/worlds/webhook-receiver.ts'

/** Where they go, and the administrator's password. */
export interface Journey {
  readonly auth: TestServer
  readonly deal: TestServer
  readonly password: string
}

const path = (id: string, below = '') => `/rest/v1/deals/${id}${below}`

/** Creates, holds, releases, lists and reads a deal, with its history. Returns its id. */
export async function workOnDeal({ deal }: Pick<Journey, 'deal'>, token: string): Promise<string> {
  const id = randomUUID()
  const call = async (target: string, status: number, sent: object = {}) => {
    const reply = await deal.send(target, { token, ...sent })
    expect(reply.status, reply.text).toBe(status)
    return reply
  }
  await call('/rest/v1/deals', 201, { json: { id, name: 'deal123', price: 1234 } })
  await call(path(id, '/hold'), 200, { method: 'PUT', json: { reason: 'test' } })
  await call(path(id, '/unhold'), 200, { method: 'PUT', json: {} })
  const command = randomUUID()
  const commandPath = path(id, `/commands/${command}`)
  await call(commandPath, 201, { method: 'PUT', json: { action: 'RenameDeal', params: { newName: 'other' } } })
  const list = await call(`/rest/v1/deals?id=${id}`, 200)
  expect(list.body.items).toMatchObject([{ id, name: 'other', held: false, version: 4 }])
  const history = await call(path(id, '/history'), 200)
  expect((history.body.items as { type: string }[]).map(({ type }) => type).sort()).toEqual(
    ['deal.created', 'deal.held', 'deal.renamed', 'deal.unheld'].sort(),
  )
  return id
}

/** Logs in, works, and uses every kind of credential; ends all that it began. */
export async function wholeJourney({ auth, deal, password }: Journey): Promise<void> {
  const first = await logIn(auth, 'admin', password)
  const refreshed = await auth.send('/refresh', { method: 'POST', token: first.refresh })
  expect(refreshed.status, refreshed.text).toBe(200)
  const token = String(refreshed.body.access_token)
  const id = await workOnDeal({ deal }, token)
  await bySession({ auth, deal, password }, id)
  await byApiKey({ auth, deal }, id, token)
  await byWebhook(deal, token)
  expect((await auth.send('/audit?limit=5', { token })).status).toBe(200)
  expect((await auth.send('/logout', { method: 'POST', token })).status).toBe(204)
}

async function bySession({ auth, deal, password }: Journey, id: string): Promise<void> {
  const begun = await auth.send('/sessions', formOf({ username: 'admin', password }))
  expect(begun.status, begun.text).toBe(201)
  const { name, value } = cookieSetBy(begun) ?? {}
  const headers = { cookie: `${name}=${value}` }
  expect((await deal.send(path(id), { headers })).status).toBe(200)
  expect((await auth.send('/me', { headers })).body).toMatchObject({ username: 'admin', scheme: 'session' })
}

async function byApiKey({ auth, deal }: Pick<Journey, 'auth' | 'deal'>, id: string, token: string): Promise<void> {
  const made = await auth.send('/api-keys', { token, json: { kind: 'hmac', name: 'journey' } })
  expect(made.status, made.text).toBe(201)
  const key = clientKeyOf(made.body)
  const request = { method: 'GET', url: deal.url + path(id) }
  const reply = await fetch(signUrl(key, request, { timestamp: Math.floor(Date.now() / 1000), nonce: randomUUID() }))
  expect(reply.status, await reply.text()).toBe(200)
  expect((await auth.send(`/api-keys/${key.id}`, { method: 'DELETE', token })).status).toBe(204)
}

async function byWebhook(deal: TestServer, token: string): Promise<void> {
  const receiver = await startReceiver()
  try {
    const made = await deal.send('/rest/v1/webhooks', { token, json: { url: receiver.url } })
    expect(made.status, made.text).toBe(201)
    rememberSecret(String(made.body.secret))
    receiver.secrets.push(String(made.body.secret))
    const id = await workOnDeal({ deal }, token)
    const ofDeal = () => receiver.taken().filter(({ data }) => data.subject === id)
    await eventually(() => expect(ofDeal().map(({ data }) => data.sequence)).toEqual([1, 2, 3, 4]))
    expect(receiver.faults).toEqual([])
    const { status } = await deal.send(`/rest/v1/webhooks/${made.body.id}`, { method: 'DELETE', token })
    expect(status).toBe(204)
  } finally {
    await receiver.close()
  }
}
