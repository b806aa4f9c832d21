import { describe, expect, it } from 'vitest'
import { createHashingPermits } from '../../../../shared/protocol/passwords/hashing-permits.ts'

/** Work that goes on until it is told to end. */
function slowWork() {
  let finish: () => void = () => undefined
  const done = new Promise<void>((resolve) => {
    finish = resolve
  })
  return { work: () => done, finish }
}

const full = { name: 'Unavailable', dependency: 'hashing', retryAfterSeconds: 1 }

describe('the queue of hashing', () => {
  it('gives the clients of one site a tenth of it, and keeps the rest for the others', async () => {
    const withPermit = createHashingPermits({ concurrency: 1 })
    const { work, finish } = slowWork()
    const site = (at: number) => `2001:db8:1:${at.toString(16)}::1`
    const accepted = Array.from({ length: 11 }, (_, at) => withPermit(work, site(at)))
    await expect(withPermit(work, site(99))).rejects.toMatchObject(full)
    await expect(withPermit(work, site(0))).rejects.toMatchObject(full)
    accepted.push(...Array.from({ length: 10 }, () => withPermit(work, '192.0.2.1')))
    await expect(withPermit(work, '::ffff:192.0.2.1')).rejects.toMatchObject(full)
    accepted.push(withPermit(work, '192.0.2.2'), withPermit(work), withPermit(work))
    expect(withPermit.load()).toEqual({ running: 1, waiting: 23, refused: 3 })
    finish()
    await Promise.all(accepted)
    await Promise.all(Array.from({ length: 11 }, (_, at) => withPermit(async () => at, '192.0.2.1')))
    expect(withPermit.load()).toEqual({ running: 0, waiting: 0, refused: 3 })
  })

  it('is as long as it is, for those whose address does not matter too', async () => {
    const withPermit = createHashingPermits({ concurrency: 1, maxQueued: 20 })
    const { work, finish } = slowWork()
    const accepted = Array.from({ length: 21 }, () => withPermit(work))
    await expect(withPermit(work, '192.0.2.1')).rejects.toMatchObject(full)
    finish()
    await Promise.all(accepted)
  })
})
