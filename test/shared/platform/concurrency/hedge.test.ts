import { expect, it } from 'vitest'
import { createHedge } from '../../../../shared/platform/concurrency/hedge.ts'

const options = { afterMs: 20, maxAttempts: 3, maxFurther: 3 }
const never = () => new Promise<never>(() => undefined)

function withResolvers() {
  let resolve: (text: string) => void = () => undefined
  const promise = new Promise<string>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** Counts attempts; each runs the function of its place, the last one that of all further places. */
function attempts(...runs: readonly (() => Promise<string>)[]) {
  const signals: AbortSignal[] = []
  const attempt = (signal: AbortSignal) => {
    signals.push(signal)
    return (runs[signals.length - 1] ?? runs.at(-1) ?? never)()
  }
  return { attempt, signals }
}

it('asks once when the answer comes soon', async () => {
  const { attempt, signals } = attempts(async () => 'first')
  expect(await createHedge(options)(attempt)).toBe('first')
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(signals).toHaveLength(1)
})

it('takes the answer of the attempt that gets one, and ends the others', async () => {
  const { attempt, signals } = attempts(never, never, async () => 'third')
  expect(await createHedge(options)(attempt)).toBe('third')
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true])
})

it('begins no further attempt after a failure, and waits for the one under way', async () => {
  const { promise, resolve: answer } = withResolvers()
  const slow = () => promise
  const { attempt, signals } = attempts(slow, async () => Promise.reject(new Error('refused')))
  const asked = createHedge(options)(attempt)
  await new Promise((resolve) => setTimeout(resolve, 80))
  answer('first')
  expect(await asked).toBe('first')
  expect(signals).toHaveLength(2)
})

it('fails at once with the failure of the only attempt', async () => {
  const { attempt, signals } = attempts(() => Promise.reject(new Error('refused')))
  await expect(createHedge(options)(attempt)).rejects.toThrow('refused')
  expect(signals).toHaveLength(1)
})

it('asks as often as it may, and no more', async () => {
  const { attempt, signals } = attempts(never)
  void createHedge(options)(attempt)
  await new Promise((resolve) => setTimeout(resolve, 150))
  expect(signals).toHaveLength(3)
})

it('begins no further attempts while those of other questions are as many as may be', async () => {
  const hedge = createHedge({ ...options, maxFurther: 1 })
  const [one, other] = [attempts(never), attempts(never)]
  void hedge(one.attempt)
  void hedge(other.attempt)
  await new Promise((resolve) => setTimeout(resolve, 150))
  expect(one.signals.length + other.signals.length).toBe(3)
})
