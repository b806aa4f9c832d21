/** Webhooks of a user who reads own deals alone. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { startReceiver, type WebhookReceiver } from '../../support/worlds/webhook-receiver.ts'

let stack: Stack
let admin: string
let receiver: WebhookReceiver

const ofDeal = (id: string) => receiver.taken().filter(({ data }) => data.subject === id)

async function createDeal(): Promise<string> {
  const id = randomUUID()
  const { status } = await stack.deal.send('/rest/v1/deals', { token: admin, json: { id, name: 'deal', price: 1 } })
  expect(status).toBe(201)
  return id
}

const change = async (id: string, verb: string, json: object) => {
  const reply = await stack.deal.send(`/rest/v1/deals/${id}/${verb}`, { token: admin, method: 'PUT', json })
  expect(reply.status, reply.text).toBe(200)
}
const rename = (id: string, newName: string) => change(id, 'rename', { newName })
const give = (id: string, employeeId: string) => change(id, 'assign-owner', { employeeId })

describeBackends('webhooks', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } })
    admin = (await stack.logIn('admin')).access
    receiver = await startReceiver()
    const json = {
      username: 'owen',
      password: 'a long password of owen',
      rights: ['webhook.manage', 'deal.read:own', 'deal.history.read:own'],
    }
    expect((await stack.auth.send('/users', { token: admin, json })).status).toBe(201)
    const token = (await stack.logIn(json.username, json.password)).access
    const made = await stack.deal.send('/rest/v1/webhooks', { token, json: { url: receiver.url } })
    expect(made.status, made.text).toBe(201)
    rememberSecret(String(made.body.secret))
    receiver.secrets.push(String(made.body.secret))
  })
  afterAll(async () => {
    await receiver.close()
    await stack.close()
  })

  it('send own deals alone, and say when one is given away, and nothing else', async () => {
    const lastOf = (id: string) => ofDeal(id).at(-1)?.data
    const [foreign, given] = [await createDeal(), await createDeal()]
    await rename(foreign, 'unseen')
    await give(given, 'owen')
    await eventually(() => expect(lastOf(given)?.type).toBe('deal.owner-assigned'))
    await rename(given, 'seen')
    await eventually(() => expect(lastOf(given)?.type).toBe('deal.renamed'))
    await give(given, 'admin')
    await eventually(() => expect(lastOf(given)?.type).toBe('deal.given-away'))
    await rename(given, 'unseen')
    await rename(foreign, 'unseen again')
    const last = await createDeal()
    await give(last, 'owen')
    await eventually(() => expect(ofDeal(last)).not.toEqual([]))
    expect(ofDeal(foreign)).toEqual([])
    const notice = lastOf(given)
    expect([notice?.type, notice?.data, notice?.actor]).toEqual(['deal.given-away', {}, undefined])
    expect(receiver.faults).toEqual([])
  })
})
