import type { Comparison } from '../runner/compare.ts'
import { numbersOf, readBareDeal } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { readDeal, request } from '../servers/requests.ts'

/** Compares GET /me of the auth server with GET of a deal: both verify an access token and answer with one object. */
export async function readMe(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { auth, deal, tokenOf } = keyhold
  const numberOf = numbersOf(bench)
  const readsDeal = (caller: number) => [readDeal(numberOf(caller), tokenOf(caller))]
  const readsMe = (caller: number) => [request('GET /me', { token: tokenOf(caller) })]
  return {
    title: `GET /me of the auth server by ${settings.callers} callers, Bearer`,
    unit: 'responses',
    floors: [
      readBareDeal(bench),
      overHttp(bench, { name: 'GET of a deal, Bearer', server: deal, requestsOf: readsDeal }),
    ],
    subjects: [overHttp(bench, { name: 'GET /me', server: auth, requestsOf: readsMe })],
  }
}
