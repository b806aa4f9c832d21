import { expect, it } from 'vitest'
import * as z from 'zod'
import { checkValue } from '../../../../shared/platform/problems/check-value.ts'

const schema = z.object({
  sentence: z.string().regex(/^a$/, 'Expected an a.'),
  words: z.string().regex(/^a$/, 'Expected an a'),
  own: z.enum(['a'], { error: 'Expected a.' }),
  short: z.string().min(2, 'At least two.'),
  long: z.string().max(0),
  number: z.number({ error: 'Expected a number.' }),
})

it.each([
  ['values', { sentence: 'b', words: 'b', own: 'b', short: '', long: 'b', number: 1 }, 5],
  ['types', { sentence: 1, words: 1, own: 1, short: 1, long: 1, number: 'b' }, 6],
])('ends each message about wrong %s with one full stop', (_what, value, count) => {
  try {
    checkValue(schema, value)
    expect.unreachable()
  } catch (error) {
    const { errors } = (error as { members: { errors: { message: string }[] } }).members
    expect(errors).toHaveLength(count)
    for (const { message } of errors) expect(message).toMatch(/[^.]\.$/)
  }
})
