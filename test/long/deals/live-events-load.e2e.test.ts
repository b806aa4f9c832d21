import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type EventClient, openEvents } from '../../support/clients/event-client.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const manyStreams = 1_000

let stack: Stack
let alice: string
const open: EventClient[] = []

async function follow(query = ''): Promise<EventClient> {
  const client = await openEvents(stack.deal, { token: alice, query })
  expect(client.status).toBe(200)
  open.push(client)
  return client
}

/** A deal with a description that makes its event a long one. */
async function createDeal(): Promise<string> {
  const id = randomUUID()
  const json = { id, name: 'deal', price: 1, description: 'd'.repeat(2_000) }
  const { status } = await stack.deal.send('/rest/v1/deals/', { token: alice, json })
  expect(status).toBe(201)
  return id
}

/** How many streams the server says are open. */
async function openStreams(): Promise<number> {
  const { text } = await stack.deal.send('/metrics')
  return Number(/^keyhold_event_streams\{.*\} (\d+)$/m.exec(text)?.[1])
}

const has = (id: string) => (client: EventClient) => client.events.some(({ data }) => data.subject === id)

describeOnce('many live event streams', (openBackend) => {
  beforeAll(async () => {
    const eventStreams = { stallMs: 1_500, maxWaitingBytes: 32 * 1024, pageSize: 10, maxOfUser: 1_000 }
    stack = await openStack(openBackend, { logLevel: 'silent', eventStreams })
    alice = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())
  afterEach(() => {
    for (const client of open.splice(0)) client.close()
  })

  it(`give ${manyStreams} clients each event`, async () => {
    const clients: EventClient[] = []
    for (let count = 0; count < manyStreams; count += 100) {
      clients.push(...(await Promise.all(Array.from({ length: 100 }, () => follow()))))
    }
    const ids = [await createDeal(), await createDeal(), await createDeal()]
    await Promise.all(clients.map((client) => client.until(({ events }) => events.length === 3)))
    const [order, ...others] = clients.map(({ events }) => events.map(({ data }) => data.subject))
    expect(order?.toSorted()).toEqual(ids.toSorted())
    for (const other of others) expect(other).toEqual(order)
  })

  it('cut off a client that does not read, which can come back to where it was, and serve the others', async () => {
    const [first] = [await createDeal()]
    const [slow, other] = [await follow('?after=0'), await follow()]
    await slow.until(has(first))
    slow.pause()
    // The kernel takes megabytes before anything waits in the server: only what is beyond them shows.
    const rows = `
      with counted as (update deals.event_counters set count = count + 200 where bucket = 1 returning count)
      insert into deals.events (id, deal_id, sequence, deal_version, type, data, currency, occurred_at, actor, use_case,
        style, correlation_id, bucket, number)
      select gen_random_uuid(), gen_random_uuid(), 1, 1, 'deal.held',
        json_build_object('reason', repeat('r', 100000), 'code', null), 'EUR', now(), 'alice', 'HoldDeal', 'resource',
        gen_random_uuid(), 1, count - 200 + n
      from counted, generate_series(1, 200) n`
    await stack.database.query(rows)
    const last = await createDeal()
    await other.until(has(last))
    await expect.poll(openStreams).toBe(1)
    slow.resume()
    await slow.until(({ hasEnded }) => hasEnded)
    expect(slow.events.length).toBeLessThan(202)
    expect(other.hasEnded).toBe(false)
    const again = await follow(`?after=${slow.events.at(-1)?.id}`)
    await again.until(has(last))
    const ids = [...slow.events, ...again.events].map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(other.events.every(({ id }) => ids.includes(id))).toBe(true)
  })
})
