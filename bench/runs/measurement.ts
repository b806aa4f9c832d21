import { type Comparison, compare, type OnRound } from '../runner/compare.ts'
import { type Table, tableOf } from '../runner/table.ts'
import type { Bench } from '../servers/bench.ts'

/** One entry of a list of measurements. */
export interface Measurement {
  /** What is measured, and in brackets its floor. */
  readonly summary: string
  /** Measures it. */
  run(bench: Bench, onRound: OnRound): Promise<Table>
}

/** Measurements by name, in the order of a full run. */
export type Measurements = Readonly<Record<string, Measurement>>

/** A comparison as a measurement. */
export const compared = (summary: string, prepare: (bench: Bench) => Promise<Comparison>): Measurement => ({
  summary,
  run: async (bench, onRound) => {
    const comparison = await prepare(bench)
    return tableOf(comparison, await compare(comparison, bench.settings, onRound), bench.settings)
  },
})
