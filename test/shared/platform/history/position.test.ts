import { describe, expect, it } from 'vitest'
import {
  areOfOneHistory,
  earlierOf,
  isPosition,
  laterOf,
  type Position,
  reaches,
} from '../../../../shared/platform/history/position.ts'

function position(text: string): Position {
  if (!isPosition(text)) throw new Error(`${text} is no position`)
  return text
}
const first = position('00000001.00000000000000FF.aaaaaaaa')
const second = position('00000001.0000000000000100.aaaaaaaa')
const promoted = position('00000002.0000000000000001.aaaaaaaa')
const elsewhere = position('00000001.0000000000000100.bbbbbbbb')

describe('a position', () => {
  it('is a text of one form alone', () => {
    for (const other of ['', 'yesterday', `${first} `, first.toLowerCase(), `${first}, ${first}`, undefined, 5])
      expect(isPosition(other)).toBe(false)
  })

  it('is reached by itself and by later ones of its history alone', () => {
    expect([first, second, promoted, elsewhere].map((one) => reaches(one, second))).toEqual([false, true, false, false])
    expect([first, promoted, elsewhere].map((one) => areOfOneHistory(one, second))).toEqual([true, false, false])
  })

  it('is later than those of the history before, and than those of another database that was known so far', () => {
    expect([laterOf(first, second), laterOf(second, first)]).toEqual([second, second])
    expect([laterOf(promoted, second), laterOf(second, promoted)]).toEqual([promoted, promoted])
    expect([laterOf(second, elsewhere), laterOf(elsewhere, second)]).toEqual([elsewhere, second])
    expect([earlierOf(first, second), earlierOf(second, first)]).toEqual([first, first])
  })

  it('is the earlier and the later one where there is no other', () => {
    expect([laterOf(undefined, first), laterOf(first, undefined)]).toEqual([first, first])
    expect([earlierOf(undefined, first), earlierOf(first, undefined)]).toEqual([first, first])
  })
})
