import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { textOfRefusals } from '../../../deal-server/files/cells.ts'
import { type FileFormat, type Row, readRows } from '../../../deal-server/files/rows.ts'
import { processorMs } from '../../support/held-up.ts'

async function read(
  text: string,
  { format = 'csv', delimiter = ',' }: { format?: FileFormat; delimiter?: string } = {},
) {
  const rows: Row[] = []
  const options = { format, delimiter, key: 'test', onHeader: () => undefined } as const
  for await (const row of readRows(Readable.from([Buffer.from(text)]), options)) rows.push(row)
  return rows
}

/** What a deal is made of by each row, or why it is not sent. */
const outcomes = (rows: readonly Row[]) =>
  rows.map(({ command, fault }) => (command ? Object.values(Object(command.params)).join('|') : fault))

describe('rows of CSV', () => {
  it.each([
    ['different names', Array.from({ length: 140_000 }, (_, index) => `n${index}`).join(',')],
    ['one name', 'name,'.repeat(200_000)],
    ['no name', ','.repeat(1_000_000)],
  ])('are not read below a first line with many columns of %s, which are not compared', async (_, header) => {
    const refused = () => expect(read(`${header}\nA deal,1`)).rejects.toThrow('first line has more than 100 columns.')
    // Comparing all names with all others takes over ten seconds.
    expect(await processorMs(refused)).toBeLessThan(2_000)
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

  it.each([
    [
      'empty columns at the right',
      'name,price,currency,,\r\nOne,12.50,EUR,,\r\nTwo,1,,,\r\n',
      ['One|12.50|EUR', 'Two|1'],
    ],
    [
      '16,384 columns',
      `name,price${','.repeat(16_382)}\nOne,1${','.repeat(16_382)}\n${','.repeat(16_383)}\n`,
      ['One|1'],
    ],
    ['an empty column in the middle', 'name,,price\nOne,,1\nTwo,x,2\n', ['One|1', /^No column has "x"/]],
    ['a column that lacks its name', 'name,price,\nOne,1,what is this\n', [/^No column has "what is this"/]],
    ['rows of commas', 'name,price\nOne,1\n,\n , \n"",\n,,,\nTwo,2\n', ['One|1', 'Two|2']],
    [
      'short rows',
      'name,price,currency,description\nOne,1\nTwo\nThree,3,EUR\n',
      ['One|1', /1 cells, the header 4/, 'Three|3|EUR'],
    ],
    ['long rows', 'name,price\nOne,1,,\nTwo,2,x\n', ['One|1', 'The row has 3 cells, the header 2. No column has "x".']],
    ['a decimal comma in a row of another length', 'name,price,description\nOne,12,50,\n', [/^The row has 4 cells/]],
    ['a short row where the file ends', 'name,price,currency\nOne,1\nTwo,12', ['One|1', /^The row has 2 cells/]],
    ['an inch sign', 'name,price\nPipe 5" steel,1\n3",2\nNext,3\n', ['Pipe 5" steel|1', '3"|2', 'Next|3']],
    ['blanks around quotes', '"name" , "price"\n"One" , "1"\n "Two, 2" ,2\n', ['One|1', 'Two, 2|2']],
    ['blanks around cells', 'name,price\nOne , 1\n', ['One|1']],
    ['quotes that stand for themselves', 'name,price\n"""One"" 1","2"\n"""","3"\n', ['"One" 1|2', '"|3']],
    ['quotes inside quotes', 'name,price\n"19" rack","5"\n"Next","6"\n', [/^The quotes of the row/, 'Next|6']],
    [
      'a text that goes on behind such quotes',
      'name,price\n"say "hi\nto her",5\nNext,6\n',
      [/^The quotes/, /^The quotes/, 'Next|6'],
    ],
    ['sep=;', 'sep=;\r\nname;price\r\nOne;1,5\r\n', ['One|1,5']],
    ['sep= in quotes, with a tab', '"SEP=\t"\nname\tprice\nOne\t1', ['One|1']],
  ])('are read with %s as people mean it, or else refused one by one', async (_, text, expected) => {
    const wanted = expected.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one)))
    expect(outcomes(await read(text))).toEqual(wanted)
    // The delimiter that the file names goes before another one.
    if (/^"?sep/i.test(text)) expect(outcomes(await read(text, { delimiter: ';' }))).toEqual(wanted)
  })

  it('keep their lines, and the ids that they had before empty rows were left out', async () => {
    const rows = await read('sep=,\nname,price\n,\nOne,1\n\n,\nTwo,2\n')
    expect(rows.map(({ number, line, command }) => [number, line, command?.id])).toEqual([
      [1, 4, 'test.2'],
      [2, 7, 'test.4'],
    ])
  })

  it('are given back with quotes that can be read in one way alone', async () => {
    const [row] = await read('name,price\n"19" rack","5"\n')
    const text = textOfRefusals(
      row ? [{ row, status: 0, code: 'invalid-row', reason: 'why' }] : [],
      ['name', 'price'],
      true,
    )
    expect(outcomes(await read(text))).toEqual(['"19" rack"|5'])
  })
})

describe('rows of NDJSON', () => {
  const refusedText = (rows: readonly Row[]) =>
    textOfRefusals(
      rows.map((row) => ({ row, status: 422, code: 'invalid-value', reason: 'not "so"' })),
      undefined,
      true,
    )

  it('are given back as they came, digit by digit, however often they are refused', async () => {
    const lines = [
      '{"name":"a","price":12345678901234567890.10}',
      '{"price":1.10, "name":"b","x":1E2,"y":-0.0}',
      '[1e2]',
      '{"name":',
    ]
    const first = refusedText(await read(lines.join('\r\n'), { format: 'ndjson' }))
    const given = first
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(line.indexOf(',"row":') + 7, -1))
    expect(given).toEqual([...lines.slice(0, 3), JSON.stringify(lines[3])])
    const rows = await read(first, { format: 'ndjson' })
    expect(outcomes(rows).slice(0, 2)).toEqual(['a|12345678901234567000', '1.1|b|100|0'])
    expect(refusedText(rows.slice(0, 2))).toBe(`${first.split('\n').slice(0, 2).join('\n')}\n`)
  })

  it('are found in what another program has rewritten', async () => {
    const line = JSON.stringify({ row: { line: 1, row: { name: 'a', price: 1 } }, line: 2 }, undefined, 1)
    expect(outcomes(await read(line.replaceAll('\n', ' '), { format: 'ndjson' }))).toEqual(['a|1'])
  })
})
