/**
 * How often a campaign repeats what it does: random runs, rounds, requests. `npm test` runs the short form, which makes
 * every assertion; `npm run test:long` runs the files that import this one, in their long form.
 */
const isLong = process.env.TEST_LONG === 'true'

/** The number for the form that runs now. */
export const campaign = ({ short, long }: { readonly short: number; readonly long: number }): number =>
  isLong ? long : short
