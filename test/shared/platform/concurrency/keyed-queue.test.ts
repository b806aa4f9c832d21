import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { KeyedQueue } from '../../../../shared/platform/concurrency/keyed-queue.ts'
import { Signal } from '../../../../shared/platform/concurrency/signal.ts'

describe('a keyed queue', () => {
  it('runs the work of one key in order of arrival, also after work that fails, and other keys beside it', async () => {
    const queue = new KeyedQueue()
    const gate = new Signal()
    const order: string[] = []
    const first = queue.run('a', async () => {
      await gate.wait()
      order.push('first')
      throw new Error('it failed')
    })
    const second = queue.run('a', async () => order.push('second'))
    const third = queue.run('a', async () => order.push('third'))
    await queue.run('b', async () => order.push('beside'))
    gate.raise()
    await expect(first).rejects.toThrow('it failed')
    await Promise.all([second, third])
    expect(order).toEqual(['beside', 'first', 'second', 'third'])
  })

  it('gives up work whose turn does not come in time', async () => {
    const queue = new KeyedQueue()
    const gate = new Signal()
    const first = queue.run('a', () => gate.wait())
    const wait = { timeoutMs: 5, onTimeout: () => new Error('too late') }
    await expect(queue.run('a', async () => 'never', wait)).rejects.toThrow('too late')
    gate.raise()
    await first
    expect(await queue.run('a', async () => 'next', wait)).toBe('next')
  })
})

describe('a signal', () => {
  it('ends a wait under way, and the next one when it was raised before', async () => {
    const signal = new Signal()
    const waiting = signal.wait()
    signal.raise()
    await waiting
    signal.raise()
    await signal.wait()
    expect(await Promise.race([signal.wait(), turn('still waiting')])).toBe('still waiting')
  })

  it('does not end the next wait for a raise that was cleared', async () => {
    const signal = new Signal()
    signal.raise()
    signal.clear()
    expect(await Promise.race([signal.wait(), turn('still waiting')])).toBe('still waiting')
  })

  it('ends a wait after its time', async () => {
    const signal = new Signal()
    await signal.wait(5)
  })
})
