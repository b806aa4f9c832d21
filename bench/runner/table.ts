import type { Comparison, Measured, Rounds, Turn } from './compare.ts'
import { median, rounded, type Spread, spreadOf } from './figures.ts'

/** The figures of a measurement. */
export interface Table {
  readonly title: string
  /** What the figures are, such as medians of several rounds. */
  readonly caption: string
  readonly rows: readonly Row[]
}

/** One subject: its figures by their names. */
export interface Row {
  readonly subject: string
  readonly figures: Readonly<Record<string, number | Spread>>
}

/** The table as Markdown. Its columns are those that any row has. */
export function markdownOf({ title, caption, rows }: Table): string {
  const columns = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))]
  const lines = rows.map(({ subject, figures }) => [subject, ...columns.map((column) => cellOf(figures[column]))])
  return [
    `## ${title}`,
    '',
    `${caption}:`,
    '',
    `| | ${columns.join(' | ')} |`,
    `|---${'|---:'.repeat(columns.length)}|`,
    ...lines.map((cells) => `| ${cells.join(' | ')} |`),
    '',
  ].join('\n')
}

/** The table as lines of JSON, one for each subject. A ratio is its median, lowest and highest value. */
export const linesOf = (work: string, { rows }: Table): string =>
  rows.map(({ subject, figures }) => `${JSON.stringify({ work, subject, ...figures }, shortened)}\n`).join('')

const shortened = (_: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(4)) : value

function cellOf(figure: number | Spread | undefined): string {
  if (figure === undefined) return ''
  if (typeof figure === 'number') return rounded(figure)
  const [middle, lowest, highest] = figure
  return `${middle.toFixed(2)} (${lowest.toFixed(2)} to ${highest.toFixed(2)})`
}

/** Figures of a turn that are shown as medians, by the title of their column. */
const medians: Readonly<Record<string, (turn: Turn) => number | undefined>> = {
  'server µs': ({ cpu }) => cpu?.server,
  'PostgreSQL µs': ({ cpu }) => cpu?.postgres,
  'Redis µs': ({ cpu }) => cpu?.redis,
  'load µs': ({ cpu }) => cpu?.load,
  'p50 ms': ({ p50Ms }) => p50Ms,
  'p99 ms': ({ p99Ms }) => p99Ms,
}

/** The figures of a comparison, with ratios of the rates to each floor. */
export function tableOf(comparison: Comparison, measured: readonly Measured[], { rounds, seconds }: Rounds): Table {
  const { title, unit } = comparison
  const floors = measured.slice(0, comparison.floors.length)
  const rowOf = (subject: Measured): Row => ({
    subject: subject.name,
    figures: {
      [`${unit}/s`]: median(rates(subject)),
      ...Object.fromEntries(floors.map((floor) => [`× ${floor.name}`, ratioTo(floor, subject, rates)])),
      ...cpuRatio(floors[0], subject),
      ...mediansOf(subject),
    },
  })
  return { title, caption: `Medians of ${rounds} rounds of ${seconds} s`, rows: measured.map(rowOf) }
}

const rates = ({ turns }: Measured): number[] => turns.map(({ perSecond }) => perSecond)

const serverTimes = ({ turns }: Measured): number[] => turns.flatMap(({ cpu }) => cpu?.server ?? [])

const ratioTo = (floor: Measured, subject: Measured, valuesOf: (of: Measured) => number[]): number | Spread =>
  subject === floor ? 1 : spreadOf(valuesOf(subject), valuesOf(floor))

/** The ratio to the first floor if the CPU time of the server alone limited the rates. */
function cpuRatio(floor: Measured | undefined, subject: Measured): Record<string, number | Spread> {
  if (!floor || serverTimes(floor).length === 0 || serverTimes(subject).length === 0) return {}
  return { '× by CPU': ratioTo(subject, floor, serverTimes) }
}

const mediansOf = ({ turns }: Measured): Record<string, number> =>
  Object.fromEntries(
    Object.entries(medians).flatMap(([title, of]) => {
      const values = turns.flatMap((turn) => of(turn) ?? [])
      return values.length === 0 ? [] : [[title, median(values)]]
    }),
  )
