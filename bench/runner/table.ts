import type { Comparison, Measured, Rounds, Turn } from './compare.ts'
import { median, rounded, spread } from './figures.ts'

/** The figure of each turn; no figures when the turns do not have it. */
const figures = (turns: readonly Turn[], of: (turn: Turn) => number | undefined): number[] =>
  turns.flatMap((turn) => of(turn) ?? [])

/** Figures of a turn that are shown as medians, by the title of their column. */
const medians: Readonly<Record<string, (turn: Turn) => number | undefined>> = {
  'server µs': ({ cpu }) => cpu?.server,
  'PostgreSQL µs': ({ cpu }) => cpu?.postgres,
  'Redis µs': ({ cpu }) => cpu?.redis,
  'load µs': ({ cpu }) => cpu?.load,
  'p50 ms': ({ p50Ms }) => p50Ms,
  'p99 ms': ({ p99Ms }) => p99Ms,
}

/** The figures of a comparison as a Markdown table, with ratios of the rates. Columns without figures are left out. */
export function tableOf(comparison: Comparison, measured: readonly Measured[], { rounds, seconds }: Rounds): string {
  const { title, unit, floors, notes = [] } = comparison
  const floorTurns = measured.slice(0, floors.length)
  const rates = ({ turns }: Measured) => turns.map(({ perSecond }) => perSecond)
  const columns: [string, (subject: Measured) => string][] = [
    [`${unit}/s`, (subject) => rounded(median(rates(subject)))],
    ...floorTurns.map((floor): [string, (subject: Measured) => string] => [
      `× ${floor.name}`,
      (subject) => (subject === floor ? '1' : spread(rates(subject), rates(floor))),
    ]),
  ]
  for (const [name, of] of Object.entries(medians)) {
    if (measured.every(({ turns }) => figures(turns, of).length === 0)) continue
    columns.push([
      name,
      ({ turns }) => {
        const found = figures(turns, of)
        return found.length === 0 ? '' : rounded(median(found))
      },
    ])
  }
  return [
    `### ${title}`,
    '',
    `Medians of ${rounds} rounds of ${seconds} s:`,
    '',
    `| | ${columns.map(([name]) => name).join(' | ')} |`,
    `|---${'|---:'.repeat(columns.length)}|`,
    ...measured.map((subject) => `| ${subject.name} | ${columns.map(([, cell]) => cell(subject)).join(' | ')} |`),
    ...(notes.length > 0 ? ['', ...notes] : []),
    '',
  ].join('\n')
}
