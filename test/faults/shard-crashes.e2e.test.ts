/** Deal servers that die between the reservation of a command id and the commit on the shard of the deal. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../shared/platform/database/database.ts'
import { openPostgres } from '../../shared/platform/postgres/postgres.ts'
import { campaign } from '../support/campaign.ts'
import type { Reply } from '../support/clients/http-client.ts'
import { answering, type ChildServer, startChild } from '../support/processes/child-server.ts'
import { freePort } from '../support/processes/free-port.ts'
import { type HoldingProxy, startHoldingProxy } from '../support/processes/holding-proxy.ts'
import { hasPlproxy, openProxied } from '../support/stores/plproxy.ts'
import { openStack, type Stack, type TestServer, testServer } from '../support/worlds/stack.ts'

const { TEST_DATABASE_URL: serverUrl, TEST_REDIS_URL: redisUrl } = process.env
const isPossible = redisUrl !== undefined && (await hasPlproxy(serverUrl))

/** When a server dies: the text of a message to the database, and what becomes of that message. */
const moments = [
  { name: 'after the reservation', word: 'insert into deals.command_reservations', isLost: false },
  { name: 'before the commit', word: 'expected_version', isLost: true },
  { name: 'after the commit', word: 'expected_version', isLost: false },
] as const

/** A server whose way to the database can be cut. */
interface Victim {
  readonly child: ChildServer
  readonly server: TestServer
  readonly proxy: HoldingProxy
}

interface Command {
  readonly key: string
  send(server: TestServer): Promise<Reply>
}

describe.skipIf(!isPossible)('deal servers with shards that are killed', () => {
  let stack: Stack
  let alice: string
  let shards: Database[]
  const children = new Set<ChildServer>()

  beforeAll(async () => {
    const backend = await openProxied(serverUrl ?? '')
    stack = await openStack(async () => backend)
    alice = (await stack.logIn('alice')).access
    shards = backend.shardUrls.map((url) => openPostgres(url))
  })
  afterAll(async () => {
    for (const child of children) await child.end('SIGKILL')
    for (const shard of shards) await shard.close()
    await stack.close()
  })

  const startVictim = async (): Promise<Victim> => {
    const url = new URL(stack.environment.DEAL_DATABASE_URL ?? '')
    const proxy = await startHoldingProxy(Number(url.port))
    url.port = String(proxy.port)
    const port = await freePort()
    const own = { DEAL_PORT: String(port), DEAL_DATABASE_URL: url.href, LOG_FORMAT: 'json' }
    const child = startChild('deal-server/main.ts', { environment: { ...stack.environment, ...own } })
    children.add(child)
    const server = testServer(port)
    await answering(`${server.url}/readyz`, child)
    return { child, server, proxy }
  }

  const onAllShards = async (statement: string, key: string): Promise<unknown[]> => {
    const rows = await Promise.all(shards.map((shard) => shard.query<{ found: unknown }>(statement, [key])))
    return rows.flat().map(({ found }) => found)
  }

  const creation = (): Command => {
    const key = `create-${randomUUID()}`
    const [json, headers] = [{ name: key, price: 1234 }, { 'idempotency-key': key }]
    return { key, send: (server) => server.send('/rest/v1/deals', { token: alice, json, headers }) }
  }
  const hold = (dealId: string): Command => {
    const key = `hold-${randomUUID()}`
    const json = { deal: dealId, action: 'HoldDeal', params: { reason: key } }
    return { key, send: (server) => server.send(`/commands/${key}`, { method: 'PUT', token: alice, json }) }
  }

  /** Everything of the command is there once, and on one shard. */
  const expectOnce = async ({ key, send }: Command): Promise<'open' | 'done'> => {
    const before = await onAllShards(
      'select to_json(command_id) as found from deals.commands where command_id = $1',
      key,
    )
    const reserved = await onAllShards(
      'select to_json(deal_id) as found from deals.command_reservations where command_id = $1',
      key,
    )
    const [one, other] = await Promise.all([send(stack.deal), send(stack.deal)])
    expect([one.status, other.status]).toEqual([201, 201])
    expect(one.text).toBe(other.text)
    const commands = await onAllShards(
      'select to_json(deal_id) as found from deals.commands where command_id = $1',
      key,
    )
    expect(commands).toHaveLength(1)
    expect(await onAllShards('select to_json(deal_id) as found from deals.events where command_id = $1', key)).toEqual(
      commands,
    )
    if (reserved.length > 0) expect(reserved).toEqual(commands)
    if (key.startsWith('create')) {
      expect(await onAllShards('select to_json(id) as found from deals.deals where name = $1', key)).toEqual(commands)
    }
    return reserved.length > 0 && before.length === 0 ? 'open' : 'done'
  }

  it('leave a reservation, and a retry carries the command out, once', async () => {
    const rounds = campaign({ short: 6, long: 200 })
    const found = { open: 0, done: 0 }
    let next = startVictim()
    for (let round = 0; round < rounds; round += 1) {
      const { child, server, proxy } = await next
      if (round + 1 < rounds) next = startVictim()
      const created = await stack.deal.send('/rest/v1/deals', { token: alice, json: { name: 'held', price: 1 } })
      const commands = [creation(), hold(String(created.body.id)), creation()]
      const { word, isLost } = moments[round % moments.length] ?? moments[0]
      if (isLost) proxy.swallowFrom(word)
      else proxy.holdAnswersAfter(word)
      const sent = commands.map((command) => command.send(server).catch(() => 'no answer'))
      await proxy.triggered
      expect(await child.end('SIGKILL')).toBeNull()
      children.delete(child)
      expect(await Promise.all(sent)).toContain('no answer')
      await proxy.close()
      for (const command of commands) found[await expectOnce(command)] += 1
    }
    // Without this, the campaign would not have met the moment that it is about.
    expect(found.open).toBeGreaterThanOrEqual(rounds / 2)
  }, 3_000_000)
})
