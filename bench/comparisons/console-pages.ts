import type { Comparison } from '../runner/compare.ts'
import { numbersOf } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { asPage, forCallers, sessionFields } from '../servers/credentials.ts'
import { dealId, readDeal, request } from '../servers/requests.ts'

/** Compares pages of the console with a GET of one deal by the same session. */
export async function compareConsolePages(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { auth, deal, authOrigin, users } = keyhold
  const sessionOf = await forCallers(users, (user) => sessionFields(authOrigin, user))
  const numberOf = numbersOf(bench)
  const page = (name: string, server: typeof deal, pathOf: (caller: number) => string) => {
    const requestsOf = (caller: number) => [
      request(`GET ${pathOf(caller)}`, { token: undefined, headers: asPage(sessionOf(caller)) }),
    ]
    return overHttp(bench, { name, server, requestsOf })
  }
  return {
    title: `Pages of the console for ${settings.callers} readers`,
    unit: 'responses',
    floors: [
      overHttp(bench, {
        name: 'GET of a deal, session',
        server: deal,
        requestsOf: (caller) => [readDeal(numberOf(caller), undefined, sessionOf(caller))],
      }),
    ],
    subjects: [
      page('/console/deals', deal, () => '/console/deals'),
      page('/console/deals/{id}', deal, (caller) => `/console/deals/${dealId(numberOf(caller))}`),
      page('/console (dashboard)', deal, () => '/console'),
      page('/account', auth, () => '/account'),
    ],
  }
}
