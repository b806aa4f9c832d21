/** How long a right outlives its removal on a deal server whose connection to Redis becomes slower and slower. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { type SlowRelay, startSlowRelay } from '../../support/processes/proxies/slow-relay.ts'
import { type Backend, describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openTestCache } from '../../support/stores/redis-cache.ts'
import {
  type AuthPart,
  changeAlice,
  createAlice,
  type DealPart,
  openAuthPart,
  openDealPart,
} from '../../support/worlds/freshness/freshness-servers.ts'

const right = 'deal.hold'
/** One way, in milliseconds: so much more with each heartbeat, up to so much. */
const [stepMs, mostMs] = [25, 1_250]

describePostgresAndRedis('a deal server whose connection to Redis slows down', (open) => {
  let backend: Backend
  let relay: SlowRelay
  let auth: AuthPart
  let deal: DealPart

  beforeAll(async () => {
    backend = await open()
    relay = await startSlowRelay(Number(backend.redis?.port))
    auth = openAuthPart(backend)
    await createAlice(auth.database, [right])
    deal = await openDealPart({ ...backend, openCache: () => openTestCache(`redis://127.0.0.1:${relay.port}`) }, [auth])
    await eventually(() => expect(deal.feed.isCurrent()).toBe(true))
  })

  afterAll(async () => {
    await Promise.all([deal.close(), auth.close()])
    await relay.close()
    await backend.close()
  })

  it('refuses a right within a second of the acknowledgement that it was removed', async () => {
    const isAllowed = async () => (await deal.records.get('alice'))?.rights.includes(right) ?? false
    expect(await isAllowed()).toBe(true)
    for (let delayMs = 0; delayMs <= mostMs; delayMs += stepMs) {
      relay.slowDown(delayMs)
      await sleep(40)
    }
    await changeAlice(auth, [])
    const allowed = allowHoldUps()
    const acknowledgedAt = performance.now()
    let lastAllowedMs = 0
    for (let askedMs = 0; askedMs < 4_000; askedMs = performance.now() - acknowledgedAt) {
      if (await isAllowed()) lastAllowedMs = askedMs
      await sleep(5)
    }
    process.stdout.write(`from acknowledgement to the last read that allows it: ${lastAllowedMs.toFixed(0)} ms\n`)
    expect(lastAllowedMs).toBeLessThan(allowed(1_000))
    relay.slowDown(0)
    await eventually(() => expect(deal.feed.isCurrent()).toBe(true))
  })
})
