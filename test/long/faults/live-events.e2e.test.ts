import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEvents } from '../../support/clients/event-client.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { redisServerInstalled } from '../../support/processes/stores/redis-server.ts'
import { openPostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const binaries = findPostgresBinaries()
const canRun = process.env.TEST_DATABASE_URL !== undefined && binaries !== undefined && redisServerInstalled
const title = canRun ? '' : ' (skipped: TEST_DATABASE_URL, or programs of PostgreSQL or Redis, are missing)'

describe.skipIf(!canRun)(`live events when a server is away${title}`, () => {
  let postgres: PostgresServer
  let stack: Stack
  let alice: string

  beforeAll(async () => {
    postgres = await PostgresServer.create(binaries ?? '')
    const eventStreams = { heartbeatMs: 500 }
    stack = await openStack(() => openPostgresAndRedis(postgres.url), { dealServers: 2, eventStreams })
    alice = (await stack.logIn('alice')).access
  })
  afterAll(async () => {
    await stack.close()
    await postgres.remove()
  })

  async function createDeal(server = stack.deal): Promise<string> {
    const id = randomUUID()
    for (let tries = 0; tries < 50; tries += 1) {
      const { status } = await server.send('/rest/v1/deals/', { token: alice, json: { id, name: 'deal', price: 1 } })
      if (status === 201 || status === 409) return id
      expect(status).toBe(503)
      await pause(200)
    }
    throw new Error('no deal could be made')
  }

  it('stay, with heartbeats, while PostgreSQL is away, then end: clients go on after the last event', async () => {
    const client = await openEvents(stack.deal, { token: alice })
    const before = await createDeal()
    await client.until(({ events }) => events.length === 1)
    await postgres.stop()
    const beats = client.others.length
    await client.until(({ others }) => others.length >= beats + 3)
    expect((await stack.deal.send('/rest/v1/events', { token: alice })).status).toBe(503)
    await postgres.start()
    const after = await createDeal()
    await client.until(({ hasEnded }) => hasEnded)
    const next = await openEvents(stack.deal, { token: alice, lastEventId: client.events.at(-1)?.id ?? '' })
    await next.until(({ events }) => events.length === 1)
    expect([...client.events, ...next.events].map(({ data }) => data.subject)).toEqual([before, after])
    next.close()
  })

  it('come without Redis too, from other servers within moments', async () => {
    const client = await openEvents(stack.deal, { token: alice })
    await stack.redis?.kill()
    const here = await createDeal()
    const there = await createDeal(stack.deals[1])
    await client.until(({ events }) => events.length === 2)
    expect(client.events.map(({ data }) => data.subject)).toEqual([here, there])
    await stack.redis?.start()
    client.close()
  })
})
