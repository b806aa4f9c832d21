import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readRows } from '../../../deal-server/files/rows.ts'

async function read(text: string) {
  const rows = []
  const options = { format: 'csv', delimiter: ',', key: 'test', onHeader: () => undefined } as const
  for await (const row of readRows(Readable.from([Buffer.from(text)]), options)) rows.push(row)
  return rows
}

describe('rows of CSV', () => {
  it.each([
    ['different names', Array.from({ length: 140_000 }, (_, index) => `n${index}`).join(',')],
    ['one name', 'name,'.repeat(200_000)],
    ['no name', ','.repeat(1_000_000)],
  ])('are not read below a first line with many columns of %s, which are not compared', async (_, header) => {
    const begin = performance.now()
    await expect(read(`${header}\nA deal,1`)).rejects.toThrow('The first line has more than 100 columns.')
    // Comparing all names with all others takes over ten seconds.
    expect(performance.now() - begin).toBeLessThan(2_000)
  })

  it('name columns that stand there twice', async () => {
    await expect(read('name,price,name,name\nA deal,1,2,3')).rejects.toThrow('it has name twice')
  })

  it('are refused one by one when they have more cells than the header, however many', async () => {
    const rows = await read(`name,price\nFirst,1\n${','.repeat(500_000)}\nLast,2\n`)
    expect(rows.map(({ fault }) => fault)).toEqual([
      undefined,
      expect.stringContaining('cells, the header 2'),
      undefined,
    ])
    expect(rows[1]?.source.length).toBeLessThan(200)
  })

  it('end with any line break', async () => {
    const rows = await read('name,price\r\nFirst,1\r\n"Second\r\none",2\nThird,3\rFourth,4')
    expect(rows.map(({ command }) => Object(command?.params).name)).toEqual([
      'First',
      'Second\r\none',
      'Third',
      'Fourth',
    ])
  })
})
