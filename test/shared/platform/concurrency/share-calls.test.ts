import { describe, expect, it, vi } from 'vitest'
import { createSharedCalls } from '../../../../shared/platform/concurrency/share-calls.ts'
import { deferred } from '../../../support/deferred.ts'

/** Calls that end when they are told to. */
function openCalls() {
  const { promise, resolve, reject } = deferred<string>()
  return { call: vi.fn(() => promise), resolve, reject }
}

describe('calls under way', () => {
  it('are shared by callers of one key, not of another one', async () => {
    const calls = createSharedCalls<string>()
    const [first, second] = [openCalls(), openCalls()]
    const results = [calls.share('a', first.call), calls.share('a', second.call), calls.share('b', second.call)]
    first.resolve('first')
    second.resolve('second')
    expect(await Promise.all(results)).toEqual(['first', 'first', 'second'])
    expect([first.call.mock.calls.length, second.call.mock.calls.length]).toEqual([1, 1])
  })

  it.each(['resolve', 'reject'] as const)('are under way no more for who waited for them: %s', async (end) => {
    const calls = createSharedCalls<string>()
    const [first, second] = [openCalls(), openCalls()]
    const again = () => calls.share('a', second.call)
    const result = calls.share('a', first.call).then(again, again)
    first[end]('first')
    second.resolve('second')
    expect(await result).toBe('second')
  })

  it('are not joined when they are too old, and leave the younger one alone when they end', async () => {
    let now = 0
    const calls = createSharedCalls<string>({ clock: { now: () => now, monotonic: () => now }, ms: 500 })
    const [old, young, none] = [openCalls(), openCalls(), openCalls()]
    const results = [calls.share('a', old.call)]
    now = 500
    results.push(calls.share('a', none.call))
    now = 501
    results.push(calls.share('a', young.call))
    old.resolve('old')
    await results[0]
    results.push(calls.share('a', none.call))
    young.resolve('young')
    expect(await Promise.all(results)).toEqual(['old', 'old', 'young', 'young'])
    expect(none.call).not.toHaveBeenCalled()
  })

  it('are not joined after a clear', async () => {
    const calls = createSharedCalls<string>()
    const [before, after] = [openCalls(), openCalls()]
    const results = [calls.share('a', before.call)]
    calls.clear()
    results.push(calls.share('a', after.call))
    before.resolve('before')
    await results[0]
    results.push(calls.share('a', before.call))
    after.resolve('after')
    expect(await Promise.all(results)).toEqual(['before', 'after', 'after'])
  })
})
