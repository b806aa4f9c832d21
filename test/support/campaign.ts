/**
 * How much runs. `npm test` runs every behaviour once. `npm run test:all` adds `test/long` and the whole matrices
 * (`matrix.ts`). `npm run test:long` repeats campaigns more often: random runs, rounds, requests.
 */

/** The long form of campaigns. */
export const isLongForm = process.env.TEST_LONG === 'true'

/** Everything runs, not a choice of it. */
export const isEverything = isLongForm || process.env.TEST_ALL === 'true'

/** The suite has just run over the embedded defaults, and need not do so again (`vitest.config.ts`). */
export const ranEmbedded = process.env.TEST_EMBEDDED === 'false'

/** How often a campaign repeats what it does, in the form that runs now. Either makes every assertion. */
export const campaign = ({ short, long }: { readonly short: number; readonly long: number }): number =>
  isLongForm ? long : short

/**
 * What a busy machine takes for a test or a hook, in milliseconds: several times as long as the machine that it was
 * written on.
 */
export const patienceMs = isLongForm ? 3_600_000 : isEverything ? 300_000 : 60_000

/** For how long a test waits for something that it does not judge by its time, in milliseconds. */
export const pollMs = isEverything ? 60_000 : 20_000
