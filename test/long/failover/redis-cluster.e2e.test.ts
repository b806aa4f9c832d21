/** A Redis Cluster by the address of one of its nodes, and one that has lost a slot. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { redisRights } from '../../../auth-server/cli/offline/redis-acl.ts'
import type { Cache } from '../../../shared/platform/cache/cache.ts'
import { feedKey } from '../../../shared/platform/cache/lanes.ts'
import { feedSlot } from '../../../shared/platform/redis/redis-connections.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type RedisServer,
  redisServerInstalled,
  startRedisCluster,
} from '../../support/processes/stores/redis-server.ts'
import { openTestCache } from '../../support/stores/redis-cache.ts'

const channel = feedKey('test:channel')

describe.skipIf(!redisServerInstalled)('a Redis Cluster', () => {
  let nodes: RedisServer[] = []
  const said: string[] = []
  const caches: Cache[] = []
  const open = (url: string): Cache => {
    const cache = openTestCache(url, { onAdvice: (sentence) => said.push(sentence) })
    caches.push(cache)
    return cache
  }

  beforeAll(async () => {
    nodes = await startRedisCluster(3)
    for (const { command } of nodes) {
      await command('ACL', 'SETUSER', 'servers', 'on', '>of-servers', ...redisRights.split(' '))
    }
  }, 60_000)
  afterEach(async () => {
    said.length = 0
    await Promise.all(caches.splice(0).map((cache) => cache.close()))
  })
  afterAll(async () => {
    for (const node of nodes) await node.dispose()
  })

  async function expectToWork(cache: Cache): Promise<void> {
    await eventually(() => cache.ping())
    const heard: string[] = []
    await cache.subscribe(channel, (message) => void heard.push(message))
    await eventually(async () => {
      await cache.publish(channel, 'heard', { since: await cache.time(), maxAgeMs: 500 })
      expect(heard).toContain('heard')
    })
  }

  it('is used as a whole by the address of any one node, and one line says to name several', async () => {
    for (const { port } of nodes) await expectToWork(open(`redis://127.0.0.1:${port}`))
    expect(said).toHaveLength(nodes.length)
    for (const sentence of said) expect(sentence).toMatch(/^this is one node of a Redis Cluster, .*name several nodes/)
  })

  it('is used by a user with the rights that are written down, by one address and by all', async () => {
    const login = 'servers:of-servers@'
    const all = nodes.map(({ port }, index) => `${index === 0 ? `redis://${login}` : ''}127.0.0.1:${port}`)
    await expectToWork(open(all.join(',')))
    await expectToWork(open(`${all[0]}`))
  })

  it('says in one line that a user with the rights for one server alone lacks some, and where all of them are', async () => {
    const rights = redisRights.replace(' ~{keyhold:*}:*', '').replace(' &{keyhold:*}:*', '').split(' ')
    for (const { command } of nodes) await command('ACL', 'SETUSER', 'former', 'on', '>of-former', ...rights)
    const cache = open(`redis://former:of-former@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`)
    await cache.subscribe(channel, () => undefined)
    const cause = () => cache.ping().catch(({ cause }) => String(cause?.message))
    await eventually(async () => expect(await cause()).toMatch(/NOPERM|permission/i))
    await sleep(500)
    expect(said).toEqual([expect.stringMatching(/lacks a right: .*docs\/operations\/stores\.md#redis has the line/)])
  })

  it('says so once when only the right to the channels is missing, however often it is tried', async () => {
    const rights = redisRights.replace(' &{keyhold:*}:*', '').split(' ')
    for (const { command } of nodes) await command('ACL', 'SETUSER', 'deaf', 'on', '>of-deaf', ...rights)
    const cache = open(`redis://deaf:of-deaf@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`)
    await cache.subscribe(channel, () => undefined)
    for (let count = 0; count < 20; count += 1) {
      await cache.ping().catch(() => undefined)
      await sleep(50)
    }
    expect(said).toEqual([expect.stringContaining('lacks a right')])
  })

  it('has no numbered databases: one line says to leave the number out', async () => {
    open(`redis://127.0.0.1:${nodes[0]?.port}/1`)
    await eventually(() => expect(said).toEqual([expect.stringContaining('leave the number out')]))
  })

  it.each([
    ['the slot of Keyhold', feedSlot],
    ['another slot', 0],
  ])('is waited for while %s has no node, one line says what to do, and it works again', async (_name, slot) => {
    const owner = nodes[Math.floor(slot / Math.ceil(16_384 / nodes.length))]
    if (!owner) throw new Error('unreachable')
    const cache = open(nodes.map(({ url }) => url).join(','))
    await eventually(() => cache.ping())
    for (const { command } of nodes) await command('CLUSTER', 'DELSLOTS', slot)
    const late = open(nodes.map(({ url }) => url).join(','))
    const cause = (one: Cache) => one.ping().catch(({ cause }) => String(cause?.message))
    for (const one of [cache, late]) await eventually(async () => expect(await cause(one)).toMatch(/^CLUSTERDOWN/))
    expect(said.length).toBeGreaterThan(0)
    for (const sentence of said) expect(sentence).toMatch(/a slot has no node .*redis-cli --cluster fix HOST:PORT/)
    await owner.command('CLUSTER', 'ADDSLOTS', slot)
    for (const one of [cache, late]) await eventually(() => one.ping())
  })
})
