import { expect, it } from 'vitest'
import { createFloodFilter } from '../../../shared/limits/flood-filter.ts'

const minuteMs = 60_000

function open() {
  let time = 0
  const filter = createFloodFilter({ monotonic: () => time })
  const keeps = (actor: string | null, address: string | null = '203.0.113.7', kind = 'digest') =>
    filter.keeps({ kind, actor, address })
  const pass = (milliseconds: number) => {
    time += milliseconds
  }
  return { keeps, pass, filter }
}

it('keeps one a minute of those that are alike', () => {
  const { keeps, pass } = open()
  expect([keeps('alice'), keeps('alice')]).toEqual([true, false])
  pass(minuteMs - 1)
  expect(keeps('alice')).toBe(false)
  pass(1)
  expect([keeps('alice'), keeps('alice')]).toEqual([true, false])
})

it('tells apart who, from where and what', () => {
  const { keeps } = open()
  expect([keeps('alice'), keeps('bob'), keeps(null)]).toEqual([true, true, true])
  expect([keeps('alice', '203.0.113.8'), keeps('alice', null)]).toEqual([true, true])
  expect(keeps('alice', '203.0.113.7', 'key-signed')).toBe(true)
})

it('takes other spellings of a name, and other addresses of a client, for the same', () => {
  const { keeps } = open()
  expect([keeps('alice', '2001:db8::1'), keeps('ALICE', '2001:db8::2')]).toEqual([true, false])
})

it('keeps few of a client that makes names up, and others all the same', () => {
  const { keeps, pass } = open()
  const kept = Array.from({ length: 100 }, (_, at) => keeps(`nobody-${at}`)).filter(Boolean)
  expect(kept.length).toBe(20)
  expect(keeps('nobody-1', '203.0.113.8')).toBe(true)
  pass(minuteMs)
  expect(keeps('nobody-99')).toBe(true)
})

it('keeps the next one when one could not be kept after all', () => {
  const { keeps, filter } = open()
  expect(keeps('alice')).toBe(true)
  filter.forget({ kind: 'digest', actor: 'Alice', address: '203.0.113.7' })
  expect(keeps('alice')).toBe(true)
})
