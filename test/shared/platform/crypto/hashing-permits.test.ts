import { describe, expect, it } from 'vitest'
import { createHashingPermits } from '../../../../shared/platform/crypto/hashing-permits.ts'
import { deferred } from '../../../support/deferred.ts'

const full = { name: 'Unavailable', dependency: 'hashing', retryAfterSeconds: 1 }

describe('the queue of hashing', () => {
  it('is there for the clients of one site while nobody else waits', async () => {
    const withPermit = createHashingPermits({ concurrency: 1 })
    const results = Array.from({ length: 101 }, (_, at) => withPermit(async () => at, '192.0.2.1'))
    await expect(withPermit(async () => 0, '192.0.2.1')).rejects.toMatchObject(full)
    expect(await Promise.all(results)).toHaveLength(101)
    expect(withPermit.load()).toEqual({ running: 0, waiting: 0, refused: 1 })
  })

  it('lets another site wait for two hashes at most beside a flood', async () => {
    const withPermit = createHashingPermits({ concurrency: 1 })
    let hashes = 0
    const hash = async () => {
      hashes += 1
      await new Promise(setImmediate)
    }
    const flood = Array.from({ length: 101 }, () => withPermit(hash, '192.0.2.1').catch(() => undefined))
    for (let round = 0; round < 20; round += 1) {
      flood.push(withPermit(hash, '192.0.2.1').catch(() => undefined))
      const before = hashes
      await withPermit(hash, '198.51.100.1')
      expect(hashes - before).toBeLessThanOrEqual(3)
    }
    await Promise.all(flood)
  })

  it('refuses, when it is full, the site that waits most', async () => {
    const withPermit = createHashingPermits({ concurrency: 1, maxQueued: 20 })
    const { promise, resolve } = deferred<void>()
    const work = () => promise
    const first = withPermit(work)
    const outcomes: string[] = []
    const send = (address: string) =>
      withPermit(work, address).then(
        () => outcomes.push(`${address} done`),
        () => outcomes.push(`${address} refused`),
      )
    const site = (at: number) => `2001:db8:1:1::${at.toString(16)}`
    const sent = Array.from({ length: 20 }, (_, at) => send(site(at)))
    sent.push(send('192.0.2.1'), send('::ffff:192.0.2.1'), send(site(20)))
    await Promise.resolve()
    resolve()
    await Promise.all([first, ...sent])
    expect(outcomes.filter((outcome) => outcome.endsWith('refused')).sort()).toEqual(
      [site(18), site(19), site(20)].map((address) => `${address} refused`).sort(),
    )
    expect(withPermit.load()).toEqual({ running: 0, waiting: 0, refused: 3 })
  })

  it('goes on after work that fails', async () => {
    const withPermit = createHashingPermits({ concurrency: 1 })
    const failed = withPermit(() => Promise.reject(new Error('x')), '192.0.2.1')
    const next = withPermit(async () => 1, '192.0.2.1')
    await expect(failed).rejects.toThrow('x')
    expect(await next).toBe(1)
    expect(withPermit.load()).toMatchObject({ running: 0, waiting: 0 })
  })
})
