import { expect, it } from 'vitest'
import { createFloodFilter } from '../../../../shared/server/login-throttle/flood-filter.ts'

const minuteMs = 60_000
const home = '203.0.113.7'

function open() {
  let time = 0
  const kindOf = ({ kind }: { kind: string }) => kind
  const filter = createFloodFilter<ReturnType<typeof refusalOf>>({ now: () => time, monotonic: () => time }, kindOf)
  const take = (actor: string | null, address: string | null = home, kind = 'digest') =>
    filter.take(refusalOf(actor, address, kind))?.count
  const pass = (milliseconds: number) => {
    time += milliseconds
  }
  return { take, pass, filter }
}

const refusalOf = (actor: string | null, address: string | null = home, kind = 'digest') => ({
  kind,
  actor,
  target: null as string | null,
  address,
})

it('lets one a minute of those that are equal through, with the number of those it stands for', () => {
  const { take, pass } = open()
  expect([take('alice'), take('alice')]).toEqual([1, undefined])
  pass(minuteMs - 1)
  expect(take('alice')).toBeUndefined()
  pass(1)
  expect([take('alice'), take('alice')]).toEqual([3, undefined])
})

it('tells apart who, from where and what', () => {
  const { take } = open()
  expect([take('alice'), take('bob'), take(null)]).toEqual([1, 1, 1])
  expect([take('alice', '203.0.113.8'), take('alice', null)]).toEqual([1, 1])
  expect(take('alice', home, 'key-signed')).toBe(1)
})

it('goes by what it was about where there is no actor', () => {
  const { filter } = open()
  const counts = ['one', 'other', 'one'].map((target) => filter.take({ ...refusalOf(null), target })?.count)
  expect(counts).toEqual([1, 1, undefined])
})

it('takes other spellings of a name, and other addresses of a client, for the same', () => {
  const { take } = open()
  expect([take('alice', '2001:db8::1'), take('ALICE', '2001:db8::2')]).toEqual([1, undefined])
})

it('tells few of a client that makes names up by name and counts the others together, and those of others all the same', () => {
  const { take, pass, filter } = open()
  const told = Array.from({ length: 100 }, (_, at) => filter.take(refusalOf(`nobody-${at}`))).filter((one) => one)
  expect(told.length).toBe(21)
  expect(told.at(-1)).toEqual({ refusal: refusalOf(null), count: 1 })
  expect(take('nobody-1', '203.0.113.8')).toBe(1)
  pass(minuteMs)
  expect(filter.drain('over')).toEqual([{ refusal: refusalOf(null), count: 79 }])
  expect(take('nobody-99')).toBe(1)
})

it('tells of few even where each comes from another client, and remembers no more', () => {
  const { filter } = open()
  let [told, counted] = [0, 0]
  for (let at = 0; at < 10_000; at += 1) {
    const taken = filter.take(refusalOf(`nobody-${at}`, `10.0.${at >> 8}.${at & 255}`))
    told += taken ? 1 : 0
    counted += taken?.count ?? 0
  }
  expect(told).toBe(2_001)
  const left = filter.drain('all')
  expect(left).toMatchObject([{ refusal: { actor: null, address: null }, count: 10_000 - counted }])
})

it('gives what was left out when its minute is over, once, and one a minute even then', () => {
  const { take, pass, filter } = open()
  for (let times = 0; times < 5; times += 1) take('alice')
  take('bob')
  expect(filter.drain('over')).toEqual([])
  pass(minuteMs)
  expect(filter.drain('over')).toEqual([{ refusal: refusalOf('alice'), count: 4 }])
  expect(filter.drain('over')).toEqual([])
  expect([take('alice'), take('bob')]).toEqual([undefined, 1])
  expect(filter.drain('all')).toEqual([{ refusal: refusalOf('alice'), count: 1 }])
})

it('lets the next one through, with all of them, when one could not be told of after all', () => {
  const { take, filter } = open()
  expect(take('alice')).toBe(1)
  take('alice')
  filter.putBack({ refusal: refusalOf('Alice'), count: 1 })
  expect(take('alice')).toBe(3)
})
