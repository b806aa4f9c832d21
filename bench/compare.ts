/**
 * Comparisons in rounds. In each round every subject has a turn, so that other work of the machine affects all of them.
 */

/** The result of one turn. */
export interface Turn {
  readonly perSecond: number
  /** CPU time of the measured process for one unit of work, in microseconds. Other work hardly changes it. */
  readonly cpuMicroseconds?: number
  /** Further figures, such as latencies. */
  readonly notes?: Readonly<Record<string, number>>
}

/** Something that is measured. */
export interface Subject {
  readonly name: string
  /** Works for about this time. Round 0 only warms up. */
  turn(seconds: number, round: number): Promise<Turn>
}

/** Subjects and their floor. */
export interface Comparison {
  readonly title: string
  readonly unit: string
  readonly floor: Subject
  readonly subjects: readonly Subject[]
  /** Printed below the figures. */
  readonly notes?: readonly string[]
  /** Closes the parts that the comparison opened. */
  close?(): Promise<unknown>
}

/** Runs a round to warm up, and then `rounds` rounds. Returns text: medians, and their ratios to the floor. */
export async function compare(
  { title, unit, floor, subjects, notes = [] }: Comparison,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<string> {
  const all = [floor, ...subjects]
  const turns = all.map((): Turn[] => [])
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, subject] of all.entries()) {
      const turn = await subject.turn(seconds, round)
      if (round > 0) turns[index]?.push(turn)
    }
  }
  const [floorTurns = []] = turns
  const lines = all.map((subject, index) => line(subject.name, turns[index] ?? [], floorTurns))
  return [`${title}  (${unit}; median of ${rounds} rounds of ${seconds} s)`, ...lines, ...notes, ''].join('\n')
}

function line(name: string, turns: readonly Turn[], floor: readonly Turn[]): string {
  const ratios = turns.map(({ perSecond }, round) => perSecond / (floor[round]?.perSecond ?? Number.NaN))
  const names = Object.keys(turns[0]?.notes ?? {})
  const notes = names.map((note) => `${note} ${rounded(median(turns.map(({ notes: all }) => all?.[note] ?? 0)))}`)
  return [
    `  ${name.padEnd(42)}`,
    `${Math.round(median(turns.map(({ perSecond }) => perSecond)))}/s`.padStart(9),
    `  × ${spread(ratios)}`,
    cpuOf(turns, floor),
    ...(notes.length > 0 ? [`  ${notes.join(', ')}`] : []),
  ].join('')
}

/** CPU time of the measured process, and the ratio of the rates if only CPU time limited them. */
function cpuOf(turns: readonly Turn[], floor: readonly Turn[]): string {
  const ratios = turns.map(({ cpuMicroseconds = Number.NaN }, round) => {
    return (floor[round]?.cpuMicroseconds ?? Number.NaN) / cpuMicroseconds
  })
  const microseconds = turns.flatMap(({ cpuMicroseconds }) => cpuMicroseconds ?? [])
  if (microseconds.length === 0) return ''
  const shown = `  CPU ${rounded(median(microseconds))} µs`
  return Number.isNaN(ratios[0]) ? shown : `${shown} × ${spread(ratios)}`
}

const spread = (ratios: readonly number[]): string =>
  `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`

const rounded = (value: number): string => (value < 100 ? value.toFixed(1) : String(Math.round(value)))

/** The median of these values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2
}
