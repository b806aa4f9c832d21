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

interface Column {
  readonly title: string
  cell(subject: Measured): string
}

/** The figures of a comparison as a Markdown table, with ratios of the rates. Columns without figures are left out. */
export function tableOf(comparison: Comparison, measured: readonly Measured[], { rounds, seconds }: Rounds): string {
  const { title, unit, floors, notes = [] } = comparison
  const rate: Column = { title: `${unit}/s`, cell: (subject) => rounded(median(rates(subject))) }
  const ratios = measured.slice(0, floors.length).map(ratioTo)
  const columns = [rate, ...ratios, ...cpuRatio(measured), ...medianColumns(measured)]
  return [
    `## ${title}`,
    '',
    `Medians of ${rounds} rounds of ${seconds} s:`,
    '',
    `| | ${columns.map((column) => column.title).join(' | ')} |`,
    `|---${'|---:'.repeat(columns.length)}|`,
    ...measured.map((subject) => `| ${subject.name} | ${columns.map(({ cell }) => cell(subject)).join(' | ')} |`),
    ...(notes.length > 0 ? ['', ...notes] : []),
    '',
  ].join('\n')
}

const rates = ({ turns }: Measured): number[] => turns.map(({ perSecond }) => perSecond)

const ratioTo = (floor: Measured): Column => ({
  title: `× ${floor.name}`,
  cell: (subject) => (subject === floor ? '1' : spread(rates(subject), rates(floor))),
})

/** The ratio to the first floor if the CPU time of the server alone limited the rates. */
function cpuRatio(measured: readonly Measured[]): Column[] {
  const times = ({ turns }: Measured) => figures(turns, ({ cpu }) => cpu?.server)
  const [floor] = measured
  if (!floor || measured.slice(1).every((subject) => times(subject).length === 0)) return []
  const cell = (subject: Measured) => (times(subject).length === 0 ? '' : spread(times(floor), times(subject)))
  return [{ title: '× by CPU', cell: (subject) => (subject === floor ? '1' : cell(subject)) }]
}

const medianColumns = (measured: readonly Measured[]): Column[] =>
  Object.entries(medians).flatMap(([title, of]) => {
    if (measured.every(({ turns }) => figures(turns, of).length === 0)) return []
    const shown = (values: readonly number[]) => (values.length === 0 ? '' : rounded(median(values)))
    return [{ title, cell: ({ turns }: Measured) => shown(figures(turns, of)) }]
  })
