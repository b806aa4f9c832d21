/**
 * How long a right outlives the acknowledgement of its removal, with real servers, while Redis and an auth server go
 * away.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { type Backend, describePostgresAndRedis } from '../../support/stores/backends.ts'
import {
  type AuthPart,
  changeAlice,
  createAlice,
  type DealPart,
  openAuthPart,
  openDealPart,
} from '../../support/worlds/freshness/freshness-servers.ts'

const rounds = 60
const right = 'deal.hold'

describePostgresAndRedis('principal records of three deal servers behind two auth servers', (open) => {
  let backend: Backend
  let authParts: AuthPart[] = []
  let dealParts: DealPart[] = []

  beforeAll(async () => {
    backend = await open()
    authParts = [openAuthPart(backend), openAuthPart(backend)]
    const [first] = authParts
    if (first) await createAlice(first.database, [])
    dealParts = await Promise.all([1, 2, 3].map(() => openDealPart(backend, authParts)))
  })

  afterAll(async () => {
    await Promise.all([...dealParts, ...authParts].map((part) => part.close()))
    await backend.close()
  })

  const isAllowed = async (deal: DealPart) => (await deal.records.get('alice'))?.rights.includes(right) ?? false

  /** Changes alice at an auth server that is open, and returns when that is acknowledged. */
  const acknowledged = async (round: number, rights: string[]): Promise<void> => {
    const running = authParts.filter((part) => part.isOpen())
    const part = running[round % running.length]
    if (!part) throw new Error('no auth server is open')
    await changeAlice(part, rights)
  }

  /**
   * How long after now the last read begins that finds something else than expected, in milliseconds; 0 when none does.
   */
  const takesEffect = async (deal: DealPart, expected: boolean): Promise<number> => {
    const start = performance.now()
    let lastMs = 0
    for (let right = 0; right < 6; ) {
      const askedMs = performance.now() - start
      if (askedMs > 20_000) throw new Error('took no effect in 20 s')
      if ((await isAllowed(deal)) === expected) right += 1
      else {
        expect(right).toBe(0)
        lastMs = askedMs
        await sleep(1)
      }
    }
    return lastMs
  }

  const trouble: Record<number, () => Promise<unknown> | undefined> = {
    8: () => backend.redis?.command('SAVE'),
    20: () => backend.redis?.kill(),
    23: () => backend.redis?.start(),
    40: () => authParts[0]?.close(),
    50: async () => {
      await backend.redis?.kill()
      await backend.redis?.start()
    },
  }

  it('refuse a right within a second of the acknowledgement that it was removed', async () => {
    const delays: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      await acknowledged(round, [right])
      await Promise.all(dealParts.map((deal) => takesEffect(deal, true)))
      await trouble[round]?.()
      await acknowledged(round, [])
      const allowed = allowHoldUps()
      const ofRound = await Promise.all(dealParts.map((deal) => takesEffect(deal, false)))
      expect(Math.max(...ofRound)).toBeLessThan(allowed(1_000))
      delays.push(...ofRound)
    }
    delays.sort((a, b) => a - b)
    const at = (share: number) => `${delays[Math.ceil(delays.length * share) - 1]?.toFixed(1)} ms`
    process.stdout.write(
      `from acknowledgement to the last read that allows it: p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}\n`,
    )
    expect(delays).toHaveLength(rounds * 3)
  })

  it('come from memory again once all is well', async () => {
    for (const deal of dealParts) expect(await isAllowed(deal)).toBe(false)
    // For half a second on end: a machine that is busy with something else may miss a heartbeat.
    await eventually(async () => {
      const before = dealParts.map((deal) => deal.asked())
      for (let count = 0; count < 100; count += 1) {
        for (const deal of dealParts) expect(deal.records.get('alice')).toMatchObject({ username: 'alice' })
        await sleep(5)
      }
      expect(dealParts.map((deal) => deal.asked())).toEqual(before)
      expect(dealParts.every((deal) => deal.feed.isCurrent())).toBe(true)
    })
  })
})
