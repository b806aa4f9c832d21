/** Interleaved rounds: in each, every subject has its turn, so that whatever else the machine does falls on all of them. */

/** What one turn came to. */
export interface Turn {
  readonly perSecond: number
  /** CPU time of the measured process per unit of work, in microseconds; it hardly depends on what else the machine does. */
  readonly cpuMicroseconds?: number
  /** Further figures, such as latencies. */
  readonly notes?: Readonly<Record<string, number>>
}

export interface Subject {
  readonly name: string
  /** Works for about so many seconds. `round` is 0 for the one that only warms up. */
  turn(seconds: number, round: number): Promise<Turn>
}

export interface Comparison {
  readonly title: string
  readonly unit: string
  readonly floor: Subject
  readonly subjects: readonly Subject[]
  /** Printed below the figures. */
  readonly notes?: readonly string[]
  /** Lets go of what was opened for it. */
  close?(): Promise<unknown>
}

/** A round that is not counted, then `rounds` of them. Gives lines to print: medians, each with its ratio to the floor. */
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

/** CPU time of the measured process, and what the rates would compare as if nothing but that bounded them. */
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

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2
}
