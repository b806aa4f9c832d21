import type { Comparison, Subject } from '../runner/compare.ts'
import { numbersOf } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import type { Running } from '../servers/processes.ts'
import { holdAndUnhold, readDeal } from '../servers/requests.ts'

/** Compares GET of a deal at a server of two workers with the same server of one process. */
export async function readWithWorkers(bench: Bench): Promise<Comparison> {
  const numberOf = numbersOf(bench)
  const requestsOf = (client: number) => [readDeal(numberOf(client), bench.keyhold.accessToken)]
  return compareWorkers(bench, 'GET of one deal', (name, server) => overHttp(bench, { name, server, requestsOf }))
}

/** The same for HoldDeal and UnholdDeal in turn. */
export async function holdWithWorkers(bench: Bench): Promise<Comparison> {
  return compareWorkers(bench, 'HoldDeal and UnholdDeal', (name, server) => {
    const first = bench.newDeals(bench.settings.clients)
    const requestsOf = (client: number) => holdAndUnhold(first + client, bench.keyhold.accessToken, { named: false })
    return overHttp(bench, { name, server, requestsOf })
  })
}

async function compareWorkers(
  { keyhold, closeLater, settings }: Bench,
  work: string,
  subject: (name: string, server: Running) => Subject,
): Promise<Comparison> {
  const two = await keyhold.startDealServer({ variables: { WORKERS: '2' } })
  closeLater(two.stop)
  return {
    title: `${work} with workers by ${settings.clients} callers, Bearer`,
    unit: 'responses',
    floors: [subject('one process', keyhold.deal)],
    subjects: [subject('two workers', two)],
  }
}
