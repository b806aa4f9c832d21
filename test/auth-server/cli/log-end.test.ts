import { expect, it } from 'vitest'
import { findEnd } from '../../../auth-server/cli/offline/log-end.ts'

it.each([0, 1, 2, 3, 7, 8, 9, 1000, 1_048_576, 123_456_789])(
  'finds the end of a log of %i entries in few questions',
  async (length) => {
    let questions = 0
    const end = await findEnd(async (seq) => {
      questions += 1
      return seq <= length
    })
    expect(end).toBe(length)
    expect(questions).toBeLessThanOrEqual(2 * Math.log2(length + 2) + 2)
  },
)
