/** Compares this checkout with another one, such as a commit with its ancestor. */
import type { Comparison } from '../runner/compare.ts'
import { compared, type Measurements } from '../runs/measurement.ts'
import { type Bench, type HttpWork, overHttp } from '../servers/bench.ts'
import type { Keyhold } from '../servers/keyhold.ts'
import { clientTokensOf, holdsOf, loginsOf, readsOf, refreshesOf } from './works.ts'

type WorkOf = (bench: Bench, keyhold: Keyhold) => HttpWork | Promise<HttpWork>

const works: Readonly<Record<string, readonly [unit: string, title: string, workOf: WorkOf]>> = {
  'read-one-deal': ['responses', 'GET of one deal, Bearer', readsOf],
  'hold-deals': ['commits', 'HoldDeal and UnholdDeal', (bench, keyhold) => holdsOf(bench, keyhold, { named: false })],
  'hold-deals-named': [
    'commits',
    'HoldDeal and UnholdDeal, with Idempotency-Key',
    (bench, keyhold) => holdsOf(bench, keyhold, { named: true }),
  ],
  refresh: ['refreshes', 'POST /refresh', (_, keyhold) => refreshesOf(keyhold)],
  'client-credentials': ['tokens', 'POST /oauth/token', (_, keyhold) => clientTokensOf(keyhold)],
  logins: ['logins', 'POST /login', loginsOf],
}

/** Each kind of work by the build of BENCH_FORMER_BUILD and by this one, in turn. */
export const buildMeasurements: Measurements = Object.fromEntries(
  Object.entries(works).map(([name, [unit, title, workOf]]) => {
    const prepare = async (bench: Bench): Promise<Comparison> => ({
      title,
      unit,
      floors: [overHttp(bench, 'the other build', await workOf(bench, await bench.formerKeyhold()))],
      subjects: [overHttp(bench, 'this build', await workOf(bench, bench.keyhold))],
    })
    return [name, compared(`${title} (the other build)`, prepare)]
  }),
)
