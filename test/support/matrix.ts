/** Combinations of several factors: all pairs of values, or every combination where everything runs. */
import covertable from 'covertable'
import { isEverything } from './campaign.ts'

/** The pairs are the same in each run. */
const seed = 'keyhold'

/** For titles: what `matrixOf` gives now. */
export const matrixForm = isEverything ? 'every combination' : `all pairs, seed ${seed}`

type Factors = Readonly<Record<string, readonly unknown[]>>

/** Values of all factors. */
export type Combination<Of extends Factors> = { readonly [Name in keyof Of]: Of[Name][number] }

/** Each two values of two factors come together in at least one combination, or all values of all factors. */
export function matrixOf<Of extends Factors>(factors: Of): Combination<Of>[] {
  const lists = Object.entries(factors)
  // Values may be objects, and the table wants scalars: it is made of their places.
  const places = lists.map(([, values]) => values.map((_, place) => place))
  const rows: number[][] = isEverything ? product(places) : covertable.make(places, { seed })
  return rows.map((row) => {
    const entries = lists.map(([name, values], factor) => [name, values[row[factor] ?? 0]])
    return Object.fromEntries(entries) as Combination<Of>
  })
}

const product = (lists: readonly (readonly number[])[]): number[][] =>
  lists.reduce<number[][]>((rows, list) => rows.flatMap((row) => list.map((place) => row.concat(place))), [[]])
