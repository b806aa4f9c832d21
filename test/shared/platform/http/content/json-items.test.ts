import { describe, expect, it } from 'vitest'
import { readJsonItems } from '../../../../../shared/platform/http/content/json-items.ts'
import { createInnerRequest } from '../../../../../shared/platform/http/inner-request.ts'
import { ProblemError } from '../../../../../shared/platform/problems/errors.ts'

const tooMany = () => new ProblemError('batch-too-large', 'Too many.')
const kib = 1024

async function read(body: string, type = 'application/json', maxArrayBytes = 256 * kib) {
  const headers = { 'content-type': type }
  const request = createInnerRequest({} as never, { method: 'POST', path: '/', pathParameters: {}, headers, body })
  const limits = { maxItems: 3, maxLineBytes: 64 * kib, maxArrayBytes, onTooMany: tooMany }
  return (await readJsonItems(request, limits)).items.map((item) => item())
}

const refusal = (code: string, ...sent: Parameters<typeof read>): Promise<void> =>
  expect(read(...sent)).rejects.toMatchObject({ code })

describe('an array of values', () => {
  /** Parsed, it would be no JSON: it does not end. */
  const million = `[${'0,'.repeat(1_000_000)}"`

  it('of more bytes than it may have is refused, whatever its members', async () => {
    await refusal('body-too-large', million)
    await refusal('body-too-large', JSON.stringify(['x'.repeat(256 * kib)]))
    expect(await read(JSON.stringify(['x'.repeat(256 * kib - 4)]))).toHaveLength(1)
  })

  it('of too many members is refused before they are made', async () => {
    await refusal('batch-too-large', '[1, 2, 3, "')
    await refusal('batch-too-large', million, undefined, Number.MAX_SAFE_INTEGER)
  })

  it.each([
    ['texts', ['a,b,c,d,e', '[,,,,', '"],,,,\\', '\\",,,,\\\\']],
    ['arrays and objects', [[1, 2, 3, 4, 5], { a: [1, 2], b: 2, c: 3, d: 4, e: 5 }, [[[',,,,']]]]],
    ['characters of several bytes', ['é,€,😀,", ,']],
  ])('is counted without the commas inside its %s', async (_, values) => {
    const few = values.slice(0, 3)
    expect(await read(JSON.stringify(few))).toEqual(few)
    await refusal('batch-too-large', JSON.stringify([...few, ...few, ...few, ...few]))
  })

  it('has no limit in lines but that of each line', async () => {
    expect(await read(`[1,2,3,4,5]\n"${'y'.repeat(60 * kib)}"`, 'application/x-ndjson', 10)).toHaveLength(2)
  })
})
