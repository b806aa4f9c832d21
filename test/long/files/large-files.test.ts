import { describe, expect, it } from 'vitest'
import { readFile } from '../../../console/transfer/read-file.ts'
import { faultOfHeader } from '../../../deal-server/files/columns.ts'
import { leastLongestTurn, timesSlower } from '../../support/processes/event-loop.ts'

const size = 1024 * 1024
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`)

describe('the header of a file', () => {
  it('has at most 100 columns, and is not looked at further when it has more', () => {
    expect(faultOfHeader(numbered(101), ',')).toBe('The first line has more than 100 columns.')
    expect(faultOfHeader(['name', 'price', ...numbered(98)], ',')).toContain('"c97", which no deal has')
  })

  it('names each column once', () => {
    expect(faultOfHeader(['name', 'price', 'name', 'ownerId', 'name'], ',')).toMatch(/it has name twice\./)
    expect(faultOfHeader(['name', 'price', 'ownerId'], ',')).toBeUndefined()
  })
})

describe('a file of a mebibyte', () => {
  it.each([
    ['that is one header', ','.repeat(size - 1), 'csv'],
    ['of a header of names', numbered(150_000).join(','), 'csv'],
    ['of a quote that is not closed', `"${'x'.repeat(size - 1)}`, 'csv'],
    ['of short rows', `name,price\n${'a,1\n'.repeat(250_000)}`, 'csv'],
    ['of long rows', `name,price,description\n${`a,1,${'x'.repeat(1000)}\n`.repeat(990)}`, 'csv'],
    ['of blank lines', '\n'.repeat(size), 'ndjson'],
    ['of one object of many members', `{${numbered(90_000).map((name) => `"${name}":1`)}}`, 'ndjson'],
  ] as const)('%s is read without holding other requests up', async (_, text, format) => {
    const enough = 50 * timesSlower()
    const read = () => readFile({ text, format, delimiter: ',' })
    expect(await leastLongestTurn(read, { enough, tries: 5 })).toBeLessThan(enough)
  })
})
