/** The median of these values; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

/** A value with three digits or so. */
export const rounded = (value: number): string => {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value.toFixed(value >= 10 ? 1 : 2)
}

/** Ratios of several rounds: their median, the lowest and the highest. */
export type Spread = readonly [median: number, lowest: number, highest: number]

/** The ratios of two rows of values, round by round. */
export function spreadOf(values: readonly number[], floor: readonly number[]): Spread {
  const ratios = values.map((value, round) => value / (floor[round] ?? Number.NaN))
  return [median(ratios), Math.min(...ratios), Math.max(...ratios)]
}
