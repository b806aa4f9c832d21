import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GivenPosition } from '../../../deal-server/events/event-log.ts'
import {
  FeedPosition,
  PositionFault,
  parseFeedPosition,
  partsFor,
  positionText,
} from '../../../deal-server/events/feed-position.ts'

const largest = 999_999_999_999_999
const hexadecimal = fc.constantFrom(...'0123456789abcdef')
const mark = fc.string({ unit: hexadecimal, minLength: 12, maxLength: 12 })
const part: fc.Arbitrary<GivenPosition> = fc.oneof(
  fc.constant({ position: 0, mark: undefined }),
  fc.record({
    position: fc.oneof(
      fc.integer({ min: 1, max: 300 }),
      fc.maxSafeNat().map((n) => (n % largest) + 1),
    ),
    mark,
  }),
)
const logs = fc.constantFrom(2, 4, 8, 64)
const parts = logs.chain((count) => fc.array(part, { minLength: count, maxLength: count }))

describe('positions of a feed', () => {
  it('come back as they were given out, in few characters that need no escape', () => {
    fc.assert(
      fc.property(parts, (given) => {
        const text = positionText(given)
        expect(parseFeedPosition(text)).toEqual(given)
        expect(text).toMatch(/^[\w-]+$/)
        expect(text.length).toBeLessThanOrEqual(3 + 20 * given.length)
      }),
    )
  })

  it('change in one log as events of it are sent', () => {
    fc.assert(
      fc.property(parts, fc.nat(), part, (given, index, next) => {
        const log = index % given.length
        const position = new FeedPosition(given)
        position.set(log, next)
        expect(parseFeedPosition(position.text())).toEqual(given.with(log, next))
      }),
    )
  })

  it('have one text: every other one is refused', () => {
    fc.assert(
      fc.property(parts, fc.nat(), fc.integer({ min: 1, max: 255 }), (given, at, change) => {
        const bytes = Buffer.from(positionText(given), 'base64url')
        bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ change
        const changed = bytes.toString('base64url')
        const read = parseFeedPosition(changed)
        if (read) expect(positionText(read)).toBe(changed)
        expect(parseFeedPosition(`${positionText(given)}AA`)).toBeUndefined()
        expect(parseFeedPosition(positionText(given).slice(0, -2))).toBeUndefined()
      }),
    )
    // A number with a needless byte, one beyond the largest, other layouts, one log, no log.
    for (const bytes of [
      [1, 2, 128, 0, 0],
      [1, 2, ...Array(9).fill(255), 1, 0],
      [2, 2, 0, 0],
      [1, 1, 0],
      [1, 0],
      [1],
    ]) {
      expect(parseFeedPosition(Buffer.from(bytes).toString('base64url'))).toBeUndefined()
    }
  })

  it('are plain with one log, and never taken for one of several', () => {
    expect(parseFeedPosition('57-1f0c9a3be217')).toEqual([{ position: 57, mark: '1f0c9a3be217' }])
    expect(parseFeedPosition('0')).toEqual([{ position: 0, mark: undefined }])
    for (const text of ['', 'x', '-1', '01', '1e3', '57-', '57-1F0C9A3BE217']) {
      expect(parseFeedPosition(text)).toBeUndefined()
    }
  })

  it('mean something only for as many logs, or for the log of one deal', () => {
    const [one, two] = [
      { position: 1, mark: 'a'.repeat(12) },
      { position: 2, mark: 'b'.repeat(12) },
    ]
    const start = { position: 0, mark: undefined }
    expect(partsFor([one], { count: 1, only: undefined })).toEqual([one])
    expect(partsFor([one], { count: 1, only: 0 })).toEqual([one])
    expect(partsFor([one, two], { count: 2, only: undefined })).toEqual([one, two])
    expect(partsFor([one, two], { count: 2, only: 1 })).toEqual([two])
    expect(partsFor([one], { count: 2, only: 1 })).toEqual([one])
    expect(partsFor([start], { count: 2, only: undefined })).toEqual([start, start])
    expect(() => partsFor([one], { count: 2, only: undefined })).toThrow(PositionFault)
    expect(() => partsFor([one, two], { count: 1, only: undefined })).toThrow(
      'A position of 2 shards; the server has 1.',
    )
    expect(() => partsFor([one, two], { count: 4, only: 1 })).toThrow(PositionFault)
  })
})
