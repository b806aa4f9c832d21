/** Webhooks of a user who reads own deals alone. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openEvents } from '../../support/clients/event-client.ts'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { runCommand } from '../../support/worlds/deals-of-the-table.ts'
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

const rename = (id: string, newName: string) => runCommand(stack, admin, 'RenameDeal', { id, newName })
const give = (id: string, employeeId: string) => runCommand(stack, admin, 'AssignOwner', { id, employeeId })

/** Makes a user with these rights, and logs in. */
async function newUser(username: string, ...rights: string[]): Promise<string> {
  const json = { username, password: `a long password of ${username}`, rights }
  expect((await stack.auth.send('/users', { token: admin, json })).status).toBe(201)
  return (await stack.logIn(username, json.password)).access
}

/** Makes a webhook, and answers its path. */
async function newWebhook(token: string, json: object): Promise<string> {
  const made = await stack.deal.send('/rest/v1/webhooks', { token, json: { url: receiver.url, ...json } })
  expect(made.status, made.text).toBe(201)
  rememberSecret(String(made.body.secret))
  receiver.secrets.push(String(made.body.secret))
  return String(made.headers.get('location'))
}

describeBackends('webhooks', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } })
    admin = (await stack.logIn('admin')).access
    receiver = await startReceiver()
    await newWebhook(await newUser('owen', 'webhook.manage', 'deal.read:own', 'deal.history.read:own'), {})
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

  it('and streams show the past of deleted deals that the user owns and may restore, and of others the deletion', async () => {
    const [foreign, own] = [await createDeal(), await createDeal()]
    const rights = ['webhook.manage', 'deal.read', 'deal.history.read', 'deal.restore:own']
    const token = await newUser('oona', ...rights)
    for (const id of [foreign, own]) {
      await rename(id, 'planted')
      if (id === own) await give(id, 'oona')
      const { status } = await stack.deal.send(`/rest/v1/deals/${id}`, { token: admin, method: 'DELETE' })
      expect(status).toBe(204)
    }
    const end = await createDeal()
    const stream = await openEvents(stack.deal, { token, query: '?after=0' })
    await stream.until(({ events }) => events.some(({ data }) => data.subject === end))
    stream.close()
    const path = await newWebhook(token, { after: '0', deals: [foreign, own, end] })
    await eventually(() => expect(ofDeal(end)).toHaveLength(1))
    const ofOwn = ['deal.created', 'deal.renamed', 'deal.owner-assigned', 'deal.deleted']
    for (const [id, types] of [
      [foreign, ['deal.deleted']],
      [own, ofOwn],
    ] as const) {
      const streamed = stream.events.filter(({ data }) => data.subject === id)
      expect(streamed.map(({ event }) => event)).toEqual(types)
      await eventually(() => expect(ofDeal(id).map(({ data }) => data.type)).toEqual(types))
    }
    const deliveries = async (by: string) => {
      const { body } = await stack.deal.send(`${path}/deliveries`, { token: by })
      return (body.items as { deal: string | null }[]).map(({ deal }) => deal)
    }
    await eventually(async () => expect(await deliveries(token)).toHaveLength(6))
    expect(new Set(await deliveries(token))).toEqual(new Set([foreign, own, end]))
    const manager = await newUser('otto', 'webhook.manage', 'deal.read:own', 'deal.history.read')
    expect(new Set(await deliveries(manager))).toEqual(new Set([null]))
  })
})
