import { compareRecords, compareSeals } from '../in-process/freshness.ts'
import { verifyKeySigned } from '../in-process/key-signed.ts'
import { measureVerifyingBesideHashes, verifyTokens } from '../in-process/verify-tokens.ts'
import type { Comparison } from '../runner/compare.ts'
import { compare } from '../runner/compare.ts'
import { tableOf } from '../runner/table.ts'
import type { Bench } from '../servers/bench.ts'
import { measureCostliest } from './costliest.ts'
import { holdDeals } from './hold-deals.ts'
import { measureKeyRing } from './key-ring.ts'
import { compareList, listNames } from './lists.ts'
import { measureLiveEvents } from './live-events.ts'
import { compareLogins } from './logins.ts'
import { readOneDeal } from './read-one-deal.ts'
import { measureReadsBesideLogins } from './reads-beside-logins.ts'
import { refreshTokens } from './refresh.ts'
import { compareNamedStyles, compareStyles } from './styles.ts'

/** Measures something. Returns Markdown. It reports the number of each round, from 0. */
export type Measurement = (bench: Bench, onRound: (round: number) => void) => Promise<string>

const compared =
  (prepare: (bench: Bench) => Promise<Comparison>): Measurement =>
  async (bench, onRound) => {
    const comparison = await prepare(bench)
    try {
      return tableOf(comparison, await compare(comparison, bench.settings, onRound), bench.settings)
    } finally {
      await comparison.close?.()
    }
  }

/** All measurements by name, in the order of a full run. */
export const measurements: Readonly<Record<string, Measurement>> = {
  'read-one-deal': compared(readOneDeal),
  'hold-deals': compared(holdDeals),
  styles: compared(compareStyles),
  'named-styles': compared(compareNamedStyles),
  refresh: compared(refreshTokens),
  logins: compared(compareLogins),
  'reads-beside-logins': measureReadsBesideLogins,
  costliest: compared(measureCostliest),
  events: measureLiveEvents,
  ...Object.fromEntries(listNames.map((name) => [name, compared((bench) => compareList(bench, name))])),
  'key-signed': compared(verifyKeySigned),
  'verify-tokens': compared(verifyTokens),
  'verify-beside-hashes': ({ settings }) => measureVerifyingBesideHashes(settings),
  'freshness-records': compared(compareRecords),
  'freshness-seals': compared(compareSeals),
  // This comes last, because it makes all tokens invalid.
  'key-ring': measureKeyRing,
}
