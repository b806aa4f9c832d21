import { expect, it } from 'vitest'
import { bytesText } from '../../../auth-server/cli/terminal/bytes-text.ts'

it('shows bytes in three digits', () => {
  const texts = [0, 999, 1000, 9994, 9999, 99_949, 99_999, 999_499, 999_999, 1.26e12].map(bytesText)
  const expected = '0 B, 999 B, 1.00 kB, 9.99 kB, 10.0 kB, 99.9 kB, 100 kB, 999 kB, 1.00 MB, 1.26 TB'
  expect(texts.join(', ')).toBe(expected)
})
