import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createMemo } from '../../../../shared/platform/cache/memo.ts'
import { campaign } from '../../../support/campaign.ts'
import { deferred } from '../../../support/deferred.ts'

/** A value says which load it comes from. */
interface Loaded {
  readonly number: number
  readonly isGood: boolean
}

type Outcome = 'value' | 'bad value' | 'nothing' | 'failure'

/** One load of the memo: its key, and what ends it. */
interface Load {
  readonly number: number
  readonly key: string
  readonly epoch: number
  readonly end: (outcome: Outcome) => void
}

const [ttlMs, unknownForMs] = [100, 20]

const key = fc.constantFrom('a', 'b', 'c', 'd')
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('load' as const), key }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: fc.nat(),
      outcome: fc.constantFrom<Outcome>('value', 'value', 'bad value', 'nothing', 'failure'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('get' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never

/** The memo, and beside it what it must do, said in the simplest way. `maxEntries` below 4 displaces entries. */
class Run {
  now = 1
  #epoch = 0
  #begun = 0
  readonly #maxEntries: number
  readonly #memo
  readonly #underWay: Load[] = []
  /** What was remembered last, and until when. */
  readonly #expected = new Map<string, { readonly value: Loaded | undefined; readonly until: number }>()
  /** Callers that wait, each with the load that must answer it. */
  readonly #waiting: Promise<void>[] = []

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
    this.#memo = createMemo<Loaded>({
      maxEntries,
      maxBytes: 100_000,
      ttlMs,
      unknownForMs,
      clock: { now: () => this.now, monotonic: () => this.now },
      isGood: ({ isGood }) => isGood,
    })
  }

  async take(taken: Step): Promise<void> {
    if (taken.do === 'load') this.#load(taken.key)
    else if (taken.do === 'end') this.#end(taken.which, taken.outcome)
    else if (taken.do === 'get') this.#get(taken.key)
    else if (taken.do === 'pass') this.now += taken.ms
    else if (taken.do === 'forget') this.#forget(taken.key)
    else this.#clear()
    await new Promise(setImmediate)
    this.#check()
  }

  async end(): Promise<void> {
    while (this.#underWay.length > 0) this.#end(0, 'value')
    await Promise.all(this.#waiting)
  }

  #load(name: string): void {
    const joined = this.#underWay.find((load) => load.key === name && load.epoch === this.#epoch)
    const number = joined?.number ?? this.#begun + 1
    const begin = () => this.#begin(name)
    const answered = this.#memo.load(name, begin)
    expect(this.#begun, 'callers share a load that began in this epoch, and no other').toBe(
      Math.max(this.#begun, number),
    )
    this.#waiting.push(
      answered.then(
        (value) => expect(value?.number ?? number).toBe(number),
        (error: Error) => expect(error.message).toBe(`load ${number} failed`),
      ),
    )
  }

  #begin(name: string): Promise<Loaded | undefined> {
    const { promise, resolve, reject } = deferred<Loaded | undefined>()
    this.#begun += 1
    const number = this.#begun
    const end = (outcome: Outcome) => {
      if (outcome === 'failure') reject(new Error(`load ${number} failed`))
      else resolve(outcome === 'nothing' ? undefined : { number, isGood: outcome === 'value' })
    }
    this.#underWay.push({ number, key: name, epoch: this.#epoch, end })
    return promise
  }

  #end(which: number, outcome: Outcome): void {
    const [load] = this.#underWay.splice(which % Math.max(1, this.#underWay.length), 1)
    if (!load) return
    load.end(outcome)
    if (load.epoch !== this.#epoch || outcome === 'failure') return
    if (outcome === 'bad value') this.#expected.delete(load.key)
    else if (outcome === 'nothing') this.#expected.set(load.key, { value: undefined, until: this.now + unknownForMs })
    else this.#expected.set(load.key, { value: { number: load.number, isGood: true }, until: this.now + ttlMs })
  }

  #get(name: string): void {
    const computed = { number: 0, isGood: true }
    const known = this.#memo.peek(name)
    expect(this.#memo.get(name, () => computed)).toBe(known ?? computed)
    if (!known) this.#expected.set(name, { value: computed, until: this.now + ttlMs })
  }

  #forget(name: string): void {
    const known = this.#memo.peek(name)
    this.#memo.replace(name, { number: -1, isGood: true }, undefined)
    expect(this.#memo.peek(name)).toBe(known)
    if (!known) return
    this.#memo.replace(name, known, undefined)
    this.#expected.delete(name)
  }

  #clear(): void {
    this.#epoch += 1
    this.#expected.clear()
    this.#memo.clear()
  }

  #check(): void {
    const names = ['a', 'b', 'c', 'd']
    const known = names.map((name) => this.#memo.peek(name))
    for (const [index, name] of names.entries()) {
      const expected = this.#expected.get(name)
      const isDue = expected !== undefined && this.now <= expected.until
      const isDisplaced = this.#maxEntries < names.length && known[index] === undefined
      if (!isDisplaced) expect(known[index]).toEqual(isDue ? expected.value : undefined)
      expect(this.#memo.isUnknown(name)).toBe(isDue && expected.value === undefined)
    }
    expect(known.filter((value) => value !== undefined).length).toBeLessThanOrEqual(this.#maxEntries)
  }
}

it('gives what the last load since the last clear gave, for its time, in whatever order things happen', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(2, 10), fc.array(step, { maxLength: 60 }), async (maxEntries, steps) => {
      const run = new Run(maxEntries)
      for (const taken of steps) await run.take(taken)
      await run.end()
    }),
    { numRuns: campaign({ short: 300, long: 20_000 }) },
  )
}, 600_000)
