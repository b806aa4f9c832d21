/** Which ratios of a file of results are lower than in the file before it. */

/** A ratio that is lower by less than this part can be chance. */
const tolerance = 0.03

/** The rows of two files of results whose ratio to the first floor is lower in `now` than in `before`, as Markdown. */
export function lowerRatios(before: string, now: string): string {
  const former = ratiosIn(before)
  const rows = [...ratiosIn(now)].flatMap(([row, ratio]) => {
    const was = former.get(row)
    return was === undefined || ratio >= (1 - tolerance) * was ? [] : [`| ${row} | ${was} | ${ratio} |`]
  })
  const [, commit = 'unknown'] = /^\| commit \| (.+) \|$/m.exec(before) ?? []
  const title = [`## Lower by more than ${100 * tolerance} % than at commit ${commit}`, '']
  if (rows.length === 0) return [...title, 'No row has a lower ratio to its first floor.', ''].join('\n')
  return [...title, '| row | then | now |', '|---|---:|---:|', ...rows, ''].join('\n')
}

/** Table and row → the ratio of the rates in its first column of ratios. */
function ratiosIn(results: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const section of results.split(/^## /m).slice(1)) {
    const [title = '', ...lines] = section.split('\n')
    const [head = [], ...rows] = lines.filter((line) => line.startsWith('|')).map(cellsOf)
    const column = head.findIndex((cell) => cell.startsWith('× '))
    for (const cells of rows) {
      const ratio = Number.parseFloat(cells[column] ?? '')
      if (ratio > 0) found.set(`${title}: ${cells[0]}`, ratio)
    }
  }
  return found
}

const cellsOf = (line: string): string[] => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim())
