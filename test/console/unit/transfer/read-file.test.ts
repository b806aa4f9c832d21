import { expect, it } from 'vitest'
import { maxRows, readFile } from '../../../../console/transfer/read-file.ts'

it('does not parse the rest of a file that has too many rows', async () => {
  const text = `name,price\n${'A deal,1\n'.repeat(maxRows * 10)}"A quote that is not closed`
  const found = await readFile({ text, format: 'csv', delimiter: ',' })
  expect(found).toEqual({ fault: expect.stringContaining('more than 1000 rows') })
})

it('reads characters of several bytes as they are, wherever they stand', async () => {
  const names = Array.from({ length: 900 }, (_, index) => 'é€😀'.repeat(index % 37))
  const text = names.map((name) => JSON.stringify({ name, price: 1 })).join('\n')
  const found = await readFile({ text, format: 'ndjson', delimiter: ',' })
  expect('rows' in found && found.rows.map(({ command }) => Object(command?.params).name)).toEqual(names)
})
