/** A Redis master that Sentinels watch is lost: reads go on, and revocations are in force within a second. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { eventually } from '../../support/eventually.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import {
  redisSentinelInstalled,
  startWatchedRedis,
  type WatchedRedis,
} from '../../support/processes/stores/redis-sentinel.ts'
import { redisServerInstalled } from '../../support/processes/stores/redis-server.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openTestCache } from '../../support/stores/redis-cache.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const possible = redisServerInstalled && redisSentinelInstalled
const rounds = campaign({ short: 1, long: 10 })
const channel = '{keyhold:all}:test:channel'

/** Of the Sentinels themselves. */
const login = '?sentinelPassword=of+sentinels%2F'

describe.skipIf(!possible)('a master of Redis that three Sentinels watch', () => {
  let watched: WatchedRedis
  let stack: Stack
  let url: string

  beforeAll(async () => {
    watched = await startWatchedRedis('deals', 'of+sentinels/')
    url = `redis+sentinel://${watched.sentinels}/deals${login}`
    const openBackend = async () => ({
      ...(await openEmbedded()),
      environment: { REDIS_URL: url },
      openCache: (secrets: readonly string[] = []) => openTestCache(url, { secrets }),
    })
    stack = await openStack(openBackend, { dealServers: 2 })
    await eventually(allAreWell)
  })
  afterAll(async () => {
    await stack?.close()
    await watched?.dispose()
  })

  async function allAreWell() {
    for (const server of [stack.auth, ...stack.deals]) {
      const { body } = await server.send('/readyz')
      expect(JSON.stringify(body)).not.toContain('unavailable')
    }
  }

  it('is replaced under reads: each is answered, and a revocation meanwhile is in force within a second', async () => {
    const { access: admin } = await stack.logIn('admin')
    for (let round = 0; round < rounds; round += 1) {
      const { access: token } = await stack.logIn('alice')
      const { access: bob } = await stack.logIn('bob')
      const statuses: number[] = []
      let reading = true
      const readers = stack.deals.map(async (deal) => {
        while (reading) {
          statuses.push((await deal.send('/rest/v1/deals', { token })).status)
          await sleep(10)
        }
      })
      for (const deal of stack.deals) expect((await deal.send('/rest/v1/deals', { token: bob })).status).toBe(200)
      const before = await watched.masterPort()
      const [master, replica] = [watched.master, watched.replica].sort((one) => (one.port === before ? -1 : 1))
      if (!master || !replica) throw new Error('unreachable')
      const allowed = allowHoldUps()
      await master.kill()
      const refusedAfterMs = await refusedWithin(admin, bob)
      await eventually(async () => expect(await watched.masterPort()).toBe(replica.port))
      await eventually(allAreWell)
      reading = false
      await Promise.all(readers)
      expect(refusedAfterMs).toBeLessThan(allowed(1_000))
      expect(statuses.filter((status) => status !== 200)).toEqual([])
      expect(statuses.length).toBeGreaterThan(20)
      await enable(admin, true)
      // The former master comes back as a replica of the new one.
      await master.start()
      await eventually(async () => expect(String(await master.command('ROLE'))).toContain('slave'))
    }
  })

  const enable = (admin: string, enabled: boolean) =>
    stack.auth.send('/users/bob', { method: 'PATCH', token: admin, json: { enabled } })

  /** The longest time from the answer to the disabling until a deal server refuses, in milliseconds. */
  async function refusedWithin(admin: string, token: string): Promise<number> {
    expect((await enable(admin, false)).status).toBe(200)
    const answeredAt = performance.now()
    const each = stack.deals.map(async (deal) => {
      await eventually(async () => expect((await deal.send('/rest/v1/deals', { token })).status).toBe(401))
      return performance.now() - answeredAt
    })
    return Math.max(...(await Promise.all(each)))
  }

  it('is followed by subscribers: what is published at the new one is heard', async () => {
    const cache = openTestCache(url)
    const heard: string[] = []
    await cache.subscribe(channel, (message) => void heard.push(message))
    await eventually(async () => {
      await cache.publish(channel, 'heard', { since: await cache.time(), maxAgeMs: 500 })
      expect(heard).toContain('heard')
    })
    await cache.close()
  })

  it('is named to no avail when the Sentinels know none of that name: one line says what to do', async () => {
    const said: string[] = []
    const cache = openTestCache(`redis+sentinel://${watched.sentinels}/nobody${login}`, {
      onAdvice: (sentence) => said.push(sentence),
    })
    const cause = () => cache.ping().catch(({ cause }) => String(cause?.message))
    await eventually(async () => expect(await cause()).toMatch(/^no Sentinel knows the master "nobody": /))
    await sleep(500)
    expect(said).toEqual([expect.stringMatching(/^no Sentinel knows .* run SENTINEL MONITOR nobody there$/)])
    await cache.close()
  })

  it('says what the master itself refuses, not that the Sentinels are away', async () => {
    const cache = openTestCache(`redis+sentinel://nobody:wrong@${watched.sentinels}/deals${login}`)
    const cause = () => cache.ping().catch(({ cause }) => String(cause?.message))
    await eventually(async () => expect(await cause()).toMatch(/^WRONGPASS/))
    await sleep(500)
    expect(await cause()).toMatch(/^WRONGPASS/)
    await cache.close()
  })

  it('is not the Sentinel itself: an address without a master is told what to write instead', async () => {
    const said: string[] = []
    const [sentinel = ''] = watched.sentinels.split(',')
    const cache = openTestCache(`redis://:of%2Bsentinels%2F@${sentinel}`, {
      onAdvice: (sentence) => said.push(sentence),
    })
    await eventually(() => expect(said).toEqual([expect.stringContaining('write redis+sentinel://')]))
    await cache.close()
  })

  it('is found by the login that the Sentinels want, and without it one line says where to write it', async () => {
    const said: string[] = []
    const refused = openTestCache(`redis+sentinel://${watched.sentinels}/deals`, {
      onAdvice: (sentence) => said.push(sentence),
    })
    await eventually(() => expect(said).toEqual([expect.stringContaining('?sentinelPassword=')]))
    await refused.close()
  })
})
