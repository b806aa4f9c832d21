/** Combinations of several factors: all pairs of values, or every combination where everything runs. */
import { make } from 'covertable'
import { isEverything } from './campaign.ts'

/** The pairs are the same in each run. */
const seed = 'keyhold'

/** For titles: what `matrixOf` gives now. */
export const matrixForm = isEverything ? 'every combination' : `all pairs, seed ${seed}`

type Factors = Readonly<Record<string, readonly unknown[]>>

/** Values of all factors. */
export type Combination<Of extends Factors> = { readonly [Name in keyof Of]: Of[Name][number] }

/** One value of each factor, by its place. */
type Row = readonly number[]

/**
 * Each two values of two factors come together in at least one combination, or all values of all factors. What
 * `isPossible` denies does not come; each pair of any other combination does.
 */
export function matrixOf<Of extends Factors>(
  factors: Of,
  isPossible: (combination: Combination<Of>) => boolean = () => true,
  isWhole = isEverything,
): Combination<Of>[] {
  const lists = Object.entries(factors)
  const combinationOf = (row: Row) => {
    const entries = lists.map(([name, values], factor) => [name, values[row[factor] ?? 0]])
    return Object.fromEntries(entries) as Combination<Of>
  }
  // Values may be objects, and the table wants scalars: it is made of their places.
  const places = lists.map(([, values]) => values.map((_, place) => place))
  const possible = product(places).filter((row) => isPossible(combinationOf(row)))
  return (isWhole ? possible : pairsOf(places, possible)).map(combinationOf)
}

/** Rows with all pairs of the possible rows. The table has no part in what is possible: its own filter loses pairs. */
function pairsOf(places: readonly number[][], possible: readonly Row[]): Row[] {
  const isPossible = new Set(possible.map(String))
  const rows: Row[] = make([...places], { seed }).filter((row) => isPossible.has(String(row)))
  const missing = new Set(possible.flatMap(pairsIn))
  const take = (row: Row) => {
    for (const pair of pairsIn(row)) missing.delete(pair)
  }
  rows.forEach(take)
  while (missing.size > 0) {
    const gains = possible.map((row) => pairsIn(row).filter((pair) => missing.has(pair)).length)
    const best = possible[gains.indexOf(Math.max(...gains))] ?? []
    rows.push(best)
    take(best)
  }
  return rows
}

const pairsIn = (row: Row): string[] =>
  row.flatMap((one, first) =>
    row.slice(first + 1).map((other, apart) => `${first}=${one} ${first + 1 + apart}=${other}`),
  )

const product = (lists: readonly (readonly number[])[]): number[][] =>
  lists.reduce<number[][]>((rows, list) => rows.flatMap((row) => list.map((place) => row.concat(place))), [[]])
