import { describe, expect, it } from 'vitest'
import { Permits } from '../../../../shared/platform/concurrency/permits.ts'
import { deferred } from '../../../support/deferred.ts'

const counts = ({ running, waiting }: Permits) => ({ running, waiting })

describe('permits', () => {
  it('let as many run as there are, and the others in order of arrival', async () => {
    const permits = new Permits(2)
    const slow = [deferred<void>(), deferred<void>()]
    const order: number[] = []
    const running = slow.map(({ promise }) => permits.run(() => promise))
    const waiting = [1, 2, 3].map((number) => permits.run(async () => order.push(number)))
    expect(counts(permits)).toEqual({ running: 2, waiting: 3 })
    slow[0]?.resolve()
    await Promise.all(waiting)
    expect(order).toEqual([1, 2, 3])
    expect(counts(permits)).toEqual({ running: 1, waiting: 0 })
    slow[1]?.resolve()
    await Promise.all(running)
    expect(counts(permits)).toEqual({ running: 0, waiting: 0 })
  })

  it('come back from work that fails', async () => {
    const permits = new Permits(1)
    const failing = permits.run(() => Promise.reject(new Error('it failed')))
    const next = permits.run(async () => 'next')
    await expect(failing).rejects.toThrow('it failed')
    expect(await next).toBe('next')
    expect(counts(permits)).toEqual({ running: 0, waiting: 0 })
  })

  it('are waited for no longer than the time-out; the work then never runs', async () => {
    const permits = new Permits(1)
    const { promise, resolve } = deferred<void>()
    const running = permits.run(() => promise)
    const wait = { timeoutMs: 10, onTimeout: () => new Error('too late') }
    let ran = false
    const late = permits.run(async () => {
      ran = true
    }, wait)
    await expect(late).rejects.toThrow('too late')
    expect(counts(permits)).toEqual({ running: 1, waiting: 0 })
    resolve()
    await running
    expect(await permits.run(async () => 'next', wait)).toBe('next')
    expect(ran).toBe(false)
  })
})
