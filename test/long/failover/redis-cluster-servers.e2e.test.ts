/** Servers on a Redis Cluster of three masters with a replica each: its nodes share the load, and each may be lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redisRights } from '../../../auth-server/cli/offline/redis-acl.ts'
import { feedSlot } from '../../../shared/platform/redis/redis-connections.ts'
import { slotOf } from '../../../shared/platform/redis/redis-slots.ts'
import { campaign } from '../../support/campaign.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type RedisServer,
  redisServerInstalled,
  startRedisCluster,
} from '../../support/processes/stores/redis-server.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openTestCache } from '../../support/stores/redis-cache.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

const users = campaign({ short: 60, long: 500 })
const rounds = campaign({ short: 1, long: 10 })
const idleMs = 1_500

describe.skipIf(!redisServerInstalled)('servers on a Redis Cluster of three masters with replicas', () => {
  let nodes: RedisServer[] = []
  let stack: Stack
  let admin: string
  let tokens: Map<string, string>

  beforeAll(async () => {
    nodes = await startRedisCluster(3, true)
    for (const node of nodes) await admit(node)
    const url = `redis://servers:of-servers@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
    const openBackend = async () => ({
      ...(await openEmbedded()),
      environment: { REDIS_URL: url },
      openCache: (secrets: readonly string[] = []) => openTestCache(url, { secrets }),
    })
    stack = await openStack(openBackend, { dealServers: 2, logLevel: 'silent' })
    await eventually(allAreWell)
    admin = (await stack.logIn('admin')).access
  }, 60_000)
  afterAll(async () => {
    await stack?.close()
    for (const node of nodes) await node.dispose()
  })

  async function allAreWell() {
    for (const server of [stack.auth, ...stack.deals]) {
      const { body } = await server.send('/readyz')
      expect(JSON.stringify(body)).not.toContain('unavailable')
    }
  }

  const read = (token: string | undefined, deal = stack.deal) =>
    deal.send('/rest/v1/deals', token === undefined ? {} : { token })

  /** The node that holds a slot, by what another node says. */
  async function ownerOf(slot: number): Promise<RedisServer> {
    for (const node of nodes) {
      const said = await node.command('CLUSTER', 'SLOTS').catch(() => [])
      for (const [first, last, [, port]] of said as [number, number, [string, number]][]) {
        const owner = nodes.find((one) => one.port === port)
        if (owner && first <= slot && slot <= last) return owner
      }
    }
    throw new Error(`no node holds the slot ${slot}`)
  }

  /** The record of a user as it stands in the Cluster: its key, and the node that holds it. */
  async function recordOf(username: string) {
    const found = await Promise.all(
      nodes.map((node) => node.command('KEYS', `*:principal2:${username}`).catch(() => [])),
    )
    const key = String(found.flat()[0])
    return { key, owner: await ownerOf(slotOf(key)) }
  }

  /** A user whose record is on another node than the channels, unlike those that were chosen before. */
  const chosen = new Set<string>()
  async function someoneElsewhere() {
    const feedOwner = await ownerOf(feedSlot)
    for (const username of tokens.keys()) {
      if (chosen.has(username)) continue
      chosen.add(username)
      const record = await recordOf(username)
      if (record.owner !== feedOwner) return { username, ...record }
    }
    throw new Error('all records are on one node')
  }

  /** Reads at both deal servers until `work` is done; all are answered with 200. */
  async function underReads(username: string, work: () => Promise<void>): Promise<void> {
    const statuses: number[] = []
    let reading = true
    const readers = stack.deals.map(async (deal) => {
      while (reading) {
        statuses.push((await read(tokens.get(username), deal)).status)
        await sleep(10)
      }
    })
    await Promise.all([work(), sleep(1_000)]).finally(() => {
      reading = false
    })
    await Promise.all(readers)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    expect(statuses.length).toBeGreaterThan(20)
  }

  /** The longest time from the answer to a disabling until a deal server refuses, in milliseconds. */
  async function refusedWithin(username: string): Promise<number> {
    const answer = await stack.auth.send(`/users/${username}`, {
      method: 'PATCH',
      token: admin,
      json: { enabled: false },
    })
    expect(answer.status).toBe(200)
    const answeredAt = performance.now()
    const each = stack.deals.map(async (deal) => {
      await eventually(async () => expect((await read(tokens.get(username), deal)).status).toBe(401))
      return performance.now() - answeredAt
    })
    return Math.max(...(await Promise.all(each)))
  }

  const known = async (username: string) => {
    for (const deal of stack.deals) expect((await read(tokens.get(username), deal)).status).toBe(200)
  }

  it('keep records on all masters when some hundred users have come, and one channel at one of them', async () => {
    const names = Array.from({ length: users }, (_, index) => `user-${index}`)
    const password = passwordOf('alice')
    await inTurns(names, 20, async (username) => {
      const json = { username, password, roles: ['viewer'] }
      expect((await stack.auth.send('/users', { token: admin, json })).status).toBe(201)
    })
    const logins = await inTurns(names, 4, async (username) => (await stack.logIn(username, password)).access)
    tokens = new Map(names.map((name, index) => [name, logins[index] ?? '']))
    const masters = nodes.slice(0, 3)
    for (const { command } of masters) await command('CONFIG', 'RESETSTAT')
    for (const token of logins) for (const deal of stack.deals) expect((await read(token, deal)).status).toBe(200)
    const loaded = await Promise.all(masters.map(callsOf))
    const keys = await Promise.all(masters.map(async ({ command }) => Number(await command('DBSIZE'))))
    for (const { command } of masters) await command('CONFIG', 'RESETSTAT')
    await sleep(idleMs)
    const idle = await Promise.all(masters.map(callsOf))
    for (const count of keys) expect(count).toBeGreaterThan(users / 5)
    for (const { evalsha } of loaded) expect(evalsha).toBeGreaterThan(users / 5)
    expect(idle.map(({ publish }) => publish)).toEqual([0, 0, 0])
    expect(idle.filter(({ spublish }) => spublish > 0)).toHaveLength(1)
    expect(Math.max(...idle.map(({ spublish }) => spublish))).toBeLessThan((idleMs / 1000) * 7)
  }, 60_000)

  it('go on when slots move under reads, and a revocation meanwhile is in force within a second', async () => {
    const reader = await someoneElsewhere()
    const [first, second] = [await someoneElsewhere(), await someoneElsewhere()]
    const channels = await ownerOf(feedSlot)
    for (const { username } of [first, second]) await known(username)
    await underReads(reader.username, async () => {
      await moveSlot(slotOf(reader.key), reader.owner, channels)
      expect((await recordOf(reader.username)).owner.port).toBe(channels.port)
      expect(await refusedWithin(first.username)).toBeLessThan(1_000)
      await moveSlot(feedSlot, channels, reader.owner)
      expect(await refusedWithin(second.username)).toBeLessThan(1_000)
      await eventually(allAreWell)
      await eventually(async () => expect((await callsOf(reader.owner)).spublish).toBeGreaterThan(0))
    })
  })

  it(
    'go on when the master of the channels or another one is lost, and a revocation meanwhile is in force within a second',
    async () => {
      for (let round = 0; round < rounds; round += 1) {
        const lost = await ownerOf(feedSlot)
        const { username } = await someoneElsewhere()
        const revoked = await someoneElsewhere()
        await known(revoked.username)
        await underReads(username, async () => {
          await lost.kill()
          expect(await refusedWithin(revoked.username)).toBeLessThan(1_000)
          await eventually(async () => expect((await ownerOf(feedSlot)).port).not.toBe(lost.port))
          await eventually(allAreWell)
        })
        await lost.start()
        await admit(lost)
        // It is the only replica of the next master that is lost.
        const inStep = async () => expect(await lost.command('INFO', 'replication')).toContain('master_link_status:up')
        await eventually(inStep)
      }
    },
    30_000 * rounds,
  )

  it('never believe the old record that a promoted replica brings, which had not heard of the last change', async () => {
    const { username, key, owner } = await someoneElsewhere()
    const reader = await someoneElsewhere()
    await known(username)
    const replica = await replicaOf(owner)
    replica.pause()
    await owner.command('CLIENT', 'KILL', 'TYPE', 'replica')
    await underReads(reader.username, async () => {
      expect(await refusedWithin(username)).toBeLessThan(1_000)
      await owner.kill()
      replica.resume()
      const late = await stack.addDealServer()
      await eventually(async () => expect((await ownerOf(slotOf(key))).port).toBe(replica.port))
      expect(String(await replica.command('GET', key))).toContain('"enabled":true')
      await eventually(allAreWell)
      expect((await read(tokens.get(username), late)).status).toBe(401)
      expect(String(await replica.command('GET', key))).toContain('"enabled":false')
    })
  }, 30_000)

  /** The node that follows `master` now. */
  async function replicaOf(master: RedisServer): Promise<RedisServer> {
    const role = await master.command('ROLE')
    const replica = nodes.find(({ port }) => JSON.stringify(role).includes(`"${port}"`))
    if (!replica) throw new Error('the master has no replica')
    return replica
  }
})

/** Lets the servers in; a node that starts again has forgotten them. */
const admit = ({ command }: RedisServer) =>
  command('ACL', 'SETUSER', 'servers', 'on', '>of-servers', ...redisRights.split(' '))

/** How often a node has run the commands that Keyhold uses. */
async function callsOf({ command }: RedisServer) {
  const stats = String(await command('INFO', 'commandstats'))
  const calls = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
  return {
    evalsha: calls('evalsha'),
    get: calls('get'),
    set: calls('set'),
    publish: calls('publish'),
    spublish: calls('spublish'),
  }
}

/** Some at a time, in order. */
async function inTurns<Item, Result>(items: readonly Item[], width: number, work: (item: Item) => Promise<Result>) {
  const results: Result[] = []
  for (let at = 0; at < items.length; at += width) {
    results.push(...(await Promise.all(items.slice(at, at + width).map(work))))
  }
  return results
}

/** As `redis-cli --cluster reshard` does it. */
async function moveSlot(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
  const [fromId, toId] = await Promise.all(
    [from, to].map(async ({ command }) => String(await command('CLUSTER', 'MYID'))),
  )
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(fromId))
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(toId))
  const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 10_000)) as string[]
  for (const key of keys) await from.command('MIGRATE', '127.0.0.1', to.port, key, 0, 1_000)
  for (const node of [to, from]) await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', String(toId))
}
