/** Live events and webhooks of two shards where a server is killed, a shard is away, and a shard loses commits. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shardOfDeal } from '../../deal-server/store/shards/shard-of.ts'
import { type EventClient, openEvents } from '../support/clients/event-client.ts'
import { expectProblem, rememberSecret } from '../support/clients/http-client.ts'
import { eventually } from '../support/eventually.ts'
import { answering, startChild } from '../support/processes/child-server.ts'
import { freePort } from '../support/processes/free-port.ts'
import { findPostgresBinaries } from '../support/processes/postgres-server.ts'
import { type PromotablePostgres, startPromotablePostgres } from '../support/processes/promotable-postgres.ts'
import { redisServerInstalled } from '../support/processes/redis-server.ts'
import { hasPlproxy, openProxied, shards } from '../support/stores/plproxy.ts'
import { openStack, type Stack, testServer } from '../support/worlds/stack.ts'
import { startReceiver, type WebhookReceiver } from '../support/worlds/webhook-receiver.ts'

const { TEST_DATABASE_URL: serverUrl } = process.env
const binaries = findPostgresBinaries()
const isPossible = binaries !== undefined && redisServerInstalled && (await hasPlproxy(serverUrl))

/** The shard on a server of its own. */
const lastShard = shards - 1

describe.skipIf(!isPossible)('the events of two shards', () => {
  let postgres: PromotablePostgres
  let stack: Stack
  let alice: string
  let receiver: WebhookReceiver
  const open: EventClient[] = []

  beforeAll(async () => {
    postgres = await startPromotablePostgres(binaries ?? '')
    stack = await openStack(() => openProxied(serverUrl ?? '', postgres.url), {
      environment: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' },
      webhooks: { lookMs: 100 },
    })
    alice = (await stack.logIn('alice')).access
    const admin = (await stack.logIn('admin')).access
    receiver = await startReceiver()
    const { body } = await stack.deal.send('/rest/v1/webhooks', { token: admin, json: { url: receiver.url } })
    rememberSecret(String(body.secret))
    receiver.secrets.push(String(body.secret))
  })
  afterAll(async () => {
    for (const client of open) client.close()
    await stack.close()
    await receiver.close()
    await postgres.remove()
  })

  const follow = async (lastEventId?: string, server: { readonly port: number } = stack.deal) => {
    const client = await openEvents(server, { token: alice, ...(lastEventId !== undefined && { lastEventId }) })
    open.push(client)
    return client
  }

  /** Creates a deal on this shard. */
  async function createDeal(shard: number): Promise<string> {
    let id = randomUUID()
    while (shardOfDeal(id, shards) !== shard) id = randomUUID()
    return eventually(async () => {
      const { status } = await stack.deal.send('/rest/v1/deals', { token: alice, json: { id, name: 'deal', price: 1 } })
      expect([201, 409]).toContain(status)
      return id
    })
  }

  const subjects = (...clients: EventClient[]) =>
    clients.flatMap(({ events }) => events.map(({ data }) => data.subject))
  const sent = () => receiver.taken().map(({ data }) => data.subject)
  const has = (id: string) => (client: EventClient) => subjects(client).includes(id)

  it('go on at another server when one is killed: none is missed, none comes twice', async () => {
    const port = await freePort()
    // Its workers read by their primary process.
    const environment = { ...stack.environment, DEAL_PORT: String(port), WORKERS: '2', LOG_FORMAT: 'json' }
    const child = startChild('deal-server/main.ts', { environment })
    await answering(`${testServer(port).url}/readyz`, child)
    const client = await follow(undefined, { port })
    const ids: string[] = []
    const writers = Array.from({ length: shards }, async (_, shard) => {
      for (let count = 0; count < 30; count += 1) ids.push(await createDeal(shard))
    })
    await client.until(({ events }) => events.length >= 10)
    expect(await child.end('SIGKILL')).toBeNull()
    await client.until(({ hasEnded }) => hasEnded)
    const next = await follow(client.events.at(-1)?.id)
    await Promise.all(writers)
    await next.until(() => subjects(client, next).length >= ids.length)
    expect(subjects(client, next).sort()).toEqual([...ids].sort())
    await eventually(() => expect(sent().sort()).toEqual([...ids].sort()))
  })

  it('go on while one shard is away, and those of this shard follow when it is back', async () => {
    const client = await follow()
    const [here, there] = [await createDeal(0), await createDeal(lastShard)]
    await client.until((one) => has(here)(one) && has(there)(one))
    const known = client.events.at(-1)?.id
    await postgres.primary.stop()
    const meanwhile = await createDeal(0)
    await client.until(has(meanwhile))
    await eventually(() => expect(sent()).toContain(meanwhile))
    const resumed = await follow(known)
    await resumed.until(has(meanwhile))
    expectProblem(await stack.deal.send('/rest/v1/events', { token: alice }), 503, 'unavailable')
    const { status, body } = await stack.deal.send('/readyz')
    const away = (body.dependencies as { name: string; status: string }[]).filter((one) => one.status !== 'ok')
    expect([status, away.map(({ name }) => name)]).toEqual([200, [`shard-${lastShard}`]])
    await postgres.primary.start()
    const back = await createDeal(lastShard)
    await resumed.until(has(back))
    expect(subjects(resumed)).toEqual([meanwhile, back])
    await eventually(() => expect(sent()).toContain(back))
    // PostgreSQL was restarted, so the stream that knew it has ended. The others go on after their positions.
    await client.until(({ hasEnded }) => hasEnded)
    const next = await follow(client.events.at(-1)?.id)
    await next.until(has(back))
    expect(subjects(client, next)).toEqual([here, there, meanwhile, back])
  })

  it('are reset where a shard has lost commits, and nowhere else', async () => {
    const client = await follow()
    const [kept, here] = [await createDeal(lastShard), await createDeal(0)]
    await client.until((one) => has(kept)(one) && has(here)(one))
    await postgres.cutStandbyOff()
    const lost = await createDeal(lastShard)
    await client.until(has(lost))
    await eventually(() => expect(sent()).toContain(lost))
    const position = client.events.at(-1)?.id
    await postgres.promote()
    const later = [await createDeal(lastShard), await createDeal(0)]
    await client.until((one) => later.every((id) => has(id)(one)))
    const [next, other] = later
    const events = client.events.map(({ event, data }) => (event === 'reset' ? event : data.subject))
    expect(events.filter((one) => one !== here && one !== other)).toEqual([kept, lost, 'reset', next])
    expect(events.filter((one) => one === here || one === other)).toEqual([here, other])
    await eventually(() => expect(sent()).toEqual(expect.arrayContaining(later)))
    await eventually(async () => {
      const headers = { 'last-event-id': String(position) }
      expectProblem(await stack.deal.send('/rest/v1/events', { token: alice, headers }), 400, 'outdated-cursor')
    })
  })
})
