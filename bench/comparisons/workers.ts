import type { Comparison, Subject } from '../runner/compare.ts'
import { numbersOf } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { asPage, forCallers, sessionFields } from '../servers/credentials.ts'
import type { Running } from '../servers/processes.ts'
import { dealId, holdAndUnhold, readDeal, request } from '../servers/requests.ts'
import { tokenRequestsOf } from './client-credentials.ts'

/** Compares GET of a deal at a server of two workers with the same server of one process. */
export async function readWithWorkers(bench: Bench): Promise<Comparison> {
  const numberOf = numbersOf(bench)
  const requestsOf = (caller: number) => [readDeal(numberOf(caller), bench.keyhold.tokenOf(caller))]
  return compareDealServers(bench, 'GET of one deal', (name, server) => overHttp(bench, { name, server, requestsOf }))
}

/** The same for HoldDeal and UnholdDeal in turn. */
export async function holdWithWorkers(bench: Bench): Promise<Comparison> {
  return compareDealServers(bench, 'HoldDeal and UnholdDeal', (name, server) => {
    const first = bench.newDeals(bench.settings.callers)
    const { tokenOf } = bench.keyhold
    const requestsOf = (caller: number) => holdAndUnhold(first + caller, tokenOf(caller), { named: false })
    return overHttp(bench, { name, server, requestsOf })
  })
}

/** The same for a page of the console: the server renders it, and PostgreSQL and the load have little to do. */
export async function renderWithWorkers(bench: Bench): Promise<Comparison> {
  const { authOrigin, users } = bench.keyhold
  const sessionOf = await forCallers(users, (user) => sessionFields(authOrigin, user))
  const numberOf = numbersOf(bench)
  const requestsOf = (caller: number) => [
    request(`GET /console/deals/${dealId(numberOf(caller))}`, { token: undefined, headers: asPage(sessionOf(caller)) }),
  ]
  return compareDealServers(bench, 'Page of one deal', (name, server) => overHttp(bench, { name, server, requestsOf }))
}

/** The same for access tokens by `client_credentials` at the auth server: its signatures use most of the CPU time. */
export async function issueWithWorkers(bench: Bench): Promise<Comparison> {
  const { keyhold, closeLater } = bench
  const two = await keyhold.startAuthServer({ variables: twoWorkers })
  closeLater(two.stop)
  const requestsOf = await tokenRequestsOf(bench)
  const subject = (name: string, server: Running) => overHttp(bench, { name, server, requestsOf })
  return comparison(bench, 'POST /oauth/token', [subject('one process', keyhold.auth), subject('two workers', two)])
}

const twoWorkers = { WORKERS: '2' }

async function compareDealServers(
  bench: Bench,
  work: string,
  subject: (name: string, server: Running) => Subject,
): Promise<Comparison> {
  const two = await bench.keyhold.startDealServer({ variables: twoWorkers })
  bench.closeLater(two.stop)
  return comparison(bench, work, [subject('one process', bench.keyhold.deal), subject('two workers', two)])
}

const comparison = ({ settings }: Bench, work: string, [floor, two]: readonly [Subject, Subject]): Comparison => ({
  title: `${work} with workers by ${settings.callers} callers`,
  unit: 'responses',
  floors: [floor],
  subjects: [two],
})
