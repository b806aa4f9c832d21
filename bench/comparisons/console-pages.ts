import type { Comparison } from '../runner/compare.ts'
import { numbersOf } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { sessionFields } from '../servers/credentials.ts'
import { dealId, readDeal, request } from '../servers/requests.ts'

/** Compares pages of the console with a GET of one deal by the same session. */
export async function compareConsolePages(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { auth, deal, authOrigin, user } = keyhold
  const headers = { ...(await sessionFields(authOrigin, user)), Accept: 'text/html' }
  const numberOf = numbersOf(bench)
  const ofDeal = (path: string) => [request(`GET ${path}`, { token: undefined, headers })]
  const page = (name: string, server: typeof deal, pathOf: (client: number) => string) =>
    overHttp(bench, { name, server, requestsOf: (client) => ofDeal(pathOf(client)) })
  return {
    title: `Pages of the console for ${settings.clients} readers`,
    unit: 'responses',
    floors: [
      overHttp(bench, {
        name: 'GET of a deal, session',
        server: deal,
        requestsOf: (client) => [readDeal(numberOf(client), undefined, headers)],
      }),
    ],
    subjects: [
      page('/console/deals', deal, () => '/console/deals'),
      page('/console/deals/{id}', deal, (client) => `/console/deals/${dealId(numberOf(client))}`),
      page('/console (dashboard)', deal, () => '/console'),
      page('/account', auth, () => '/account'),
    ],
  }
}
