/** The parameters that are amounts, by whatever use case. */
const amounts: ReadonlySet<string> = new Set([
  ...['price', 'newPrice', 'finalPrice', 'penaltyAmount', 'completionDatePenalty', 'cancelPenalty'],
])

type Params = Readonly<Record<string, unknown>>

/** Parameters with their amounts, which are decimal text, written another way; also those of the attribute `completion`. */
export const mapAmounts = (params: Params, write: (amount: string) => unknown): Params =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      if (name === 'completion' && value != null) return [name, mapAmounts(value as Params, write)]
      return [name, amounts.has(name) && typeof value === 'string' ? write(value) : value]
    }),
  )
