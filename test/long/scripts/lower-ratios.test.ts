import { describe, expect, test } from 'vitest'
import { lowerRatios } from '../../../bench/runs/lower-ratios.ts'

const results = (commit: string, rows: Readonly<Record<string, string>>) => `# Results

| | |
|---|---|
| commit | ${commit} |

## GET of one deal

Medians:

| | responses/s | × bare Hono | p50 ms |
|---|---:|---:|---:|
| bare Hono | 10,000 | 1 | 2 |
${Object.entries(rows)
  .map(([name, ratio]) => `| ${name} | 8,000 | ${ratio} (0.1 to 2.0) | 3 |`)
  .join('\n')}

## Memory

| | 0 |
|---|---:|
| deal server | 100 |
`

describe('the rows with lower ratios than in the file before', () => {
  const before = results('abc', { Bearer: '0.80', 'session cookie': '0.80', Basic: '0.50' })

  test('are named, when they are lower by more than 3 %', () => {
    const now = results('def', { Bearer: '0.78', 'session cookie': '0.77', Basic: '0.60' })
    expect(lowerRatios(before, now)).toBe(
      '## Lower by more than 3 % than at commit abc\n\n| row | then | now |\n|---|---:|---:|\n' +
        '| GET of one deal: session cookie | 0.8 | 0.77 |\n',
    )
  })

  test('are none, when nothing is lower', () => {
    expect(lowerRatios(before, before)).toContain('No row has a lower ratio')
  })

  test('do not include rows that one of the files lacks', () => {
    expect(lowerRatios(before, results('def', { Digest: '0.10' }))).toContain('No row has a lower ratio')
  })
})
