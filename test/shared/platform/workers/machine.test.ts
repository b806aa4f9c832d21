import { EventEmitter } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { createMemoryCache } from '../../../../shared/platform/cache/memory-cache.ts'
import { systemClock } from '../../../../shared/platform/clock.ts'
import { createMetrics } from '../../../../shared/platform/metrics/metrics.ts'
import { Channel, type Line } from '../../../../shared/platform/workers/channel.ts'
import { metricsOfWorker, sumOfMachine, tellLastMetrics } from '../../../../shared/platform/workers/machine-metrics.ts'
import type { Member, Workers } from '../../../../shared/platform/workers/primary.ts'
import { shareSubscriptions, subscribeByPrimary } from '../../../../shared/platform/workers/shared-subscriptions.ts'

/** A primary process and workers that are all in this process. */
class Machine {
  readonly #members: Member[] = []
  readonly #joining: ((member: Member) => void)[] = []
  readonly #leaving: ((member: Member) => void)[] = []
  readonly workers: Pick<Workers, 'answer' | 'onJoin' | 'onLeave' | 'members' | 'tell'> = {
    members: () => this.#members,
    onJoin: (listener) => void this.#joining.push(listener),
    onLeave: (listener) => void this.#leaving.push(listener),
    answer: (call, work) =>
      void this.#joining.push((member) => member.channel.answer(call, (value) => work(value, member))),
    tell: (news, value) => {
      for (const { channel } of this.#members) void channel.tell(news, value)
    },
  }

  join(): Channel {
    const [here, there] = [new EventEmitter(), new EventEmitter()]
    const line = (own: EventEmitter, other: EventEmitter): Line => ({
      send: (message, _socket, onSent) => {
        other.emit('message', structuredClone(message))
        onSent(null)
      },
      onMessage: (listener) => void own.on('message', listener),
      onClose: () => undefined,
    })
    const channel = new Channel(line(there, here))
    const member = { number: this.#members.length + 1, channel: new Channel(line(here, there)) }
    this.#members.push(member)
    for (const listener of this.#joining) listener(member)
    return channel
  }

  leave(number: number): void {
    const index = this.#members.findIndex((member) => member.number === number)
    const [member] = this.#members.splice(index, 1)
    if (member) for (const listener of this.#leaving) listener(member)
  }
}

describe('the subscriptions of a machine', () => {
  it('are one of each channel, whose messages all workers get; the last one that leaves ends it', async () => {
    const machine = new Machine()
    const cache = createMemoryCache(systemClock)
    const end = vi.fn()
    const subscribe = vi.fn(async (...given: Parameters<typeof cache.subscribe>) => {
      const unsubscribe = await cache.subscribe(...given)
      return async () => {
        end()
        await unsubscribe()
      }
    })
    const stop = shareSubscriptions(machine.workers, { subscribe, isSilent: () => false })
    const got: string[] = []
    const ends = await Promise.all(
      [1, 2].map(async (number) => {
        const shared = subscribeByPrimary(cache, machine.join(), () => undefined)
        return shared.subscribe(
          'channel',
          (message, maxDelayMs) => void got.push(`${number} ${message} ${maxDelayMs >= 0}`),
        )
      }),
    )
    await cache.publish('channel', 'hello', { since: await cache.time(), maxAgeMs: 1000 })
    await expect.poll(() => got.toSorted()).toEqual(['1 hello true', '2 hello true'])
    expect(subscribe).toHaveBeenCalledTimes(1)
    await ends[0]?.()
    expect(end).not.toHaveBeenCalled()
    machine.leave(2)
    await expect.poll(() => end.mock.calls.length).toBe(1)
    await stop()
  })

  it('count as silent until the primary process has said otherwise, and when it says so', async () => {
    const machine = new Machine()
    const cache = createMemoryCache(systemClock)
    let isSilent = false
    const worker = subscribeByPrimary(cache, machine.join(), () => undefined)
    expect(worker.isSilent()).toBe(true)
    const stop = shareSubscriptions(machine.workers, { subscribe: cache.subscribe, isSilent: () => isSilent })
    await expect.poll(() => worker.isSilent()).toBe(false)
    isSilent = true
    await expect.poll(() => worker.isSilent()).toBe(true)
    isSilent = false
    await expect.poll(() => worker.isSilent()).toBe(false)
    // The primary process says nothing more.
    await stop()
    await expect.poll(() => worker.isSilent(), { timeout: 5_000 }).toBe(true)
  })
})

describe('the metrics of a machine', () => {
  it('are sums of counts, what gauges say of themselves, and the counts of workers that have ended', async () => {
    const machine = new Machine()
    const open = () => {
      const metrics = createMetrics()
      const counter = metrics.counter({ name: 'calls_total', help: 'Calls.' })
      const values = { sum: 1, min: 1, max: 1 }
      for (const together of ['sum', 'min', 'max'] as const) {
        metrics.gauge({ name: together, help: 'A gauge.', together }, 'deal', () => [{ value: values[together] }])
      }
      return { metrics, values, count: (calls: number) => counter.inc({ server: 'deal' }, calls) }
    }
    const [primary, one, two] = [open(), open(), open()]
    const summed = sumOfMachine(machine.workers, primary.metrics)
    const channels = [machine.join(), machine.join()]
    const shown = [one, two].map(({ metrics }, index) => metricsOfWorker(channels[index] as Channel, metrics))
    one.count(3)
    two.count(4)
    Object.assign(one.values, { sum: 5, min: 0, max: 7 })
    const text = await summed.text()
    for (const line of [
      'calls_total{server="deal"} 7',
      'sum{server="deal"} 7',
      'min{server="deal"} 0',
      'max{server="deal"} 7',
    ])
      expect(text).toContain(`keyhold_${line}\n`)
    expect(text.match(/^process_start_time_seconds /gm)).toHaveLength(1)
    expect(await shown[1]?.text()).toContain('keyhold_calls_total{server="deal"} 7\n')
    one.count(2)
    await tellLastMetrics(channels[0] as Channel, one.metrics)
    machine.leave(1)
    const after = await summed.text()
    expect(after).toContain('keyhold_calls_total{server="deal"} 9\n')
    expect(after).toContain('keyhold_max{server="deal"} 1\n')
  })
})
