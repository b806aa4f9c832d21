import { type Bench, cyclesFor, httpTurn } from './bench.ts'
import type { Comparison } from './compare.ts'
import { readDeal, type Token } from './requests.ts'

/** What authentication costs: GET of one deal with a Bearer token, against the same surface where the caller is simply given. */
export async function readOneDeal(bench: Bench): Promise<Comparison> {
  const { clients, deals, servers } = bench
  const requestsOf = (token: Token) => (client: number) => [readDeal(Math.floor((client * deals) / clients), token)]
  const subject = (name: string, port: number, token: Token) => {
    const cycles = cyclesFor(clients, port, requestsOf(token))
    return { name, turn: (seconds: number) => httpTurn(bench, { cycles, expected: '200' }, seconds) }
  }
  return {
    title: 'GET of one deal by 32 callers',
    unit: 'answers',
    floor: subject('caller given, credential not looked at', servers.openPort, undefined),
    subjects: [subject('Bearer', servers.port, servers.accessToken)],
  }
}
