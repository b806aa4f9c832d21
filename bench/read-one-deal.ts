import { type Bench, cyclesFor, httpTurn } from './bench.ts'
import type { Comparison } from './compare.ts'
import { readDeal, type Token } from './requests.ts'

/** What authentication costs: GET of one deal in each scheme, against the same surface where the caller is simply given. */
export async function readOneDeal(bench: Bench): Promise<Comparison> {
  const { clients, deals, servers } = bench
  const subject = (name: string, port: number, token: Token, headers: Readonly<Record<string, string>> = {}) => {
    const numberOf = (client: number) => Math.floor((client * deals) / clients)
    const cycles = cyclesFor(clients, port, (client) => [readDeal(numberOf(client), token, headers)])
    return { name, turn: (seconds: number) => httpTurn(bench, { cycles, expected: '200' }, seconds) }
  }
  return {
    title: 'GET of one deal by 32 callers',
    unit: 'answers',
    floor: subject('caller given, credential not looked at', servers.openPort, undefined),
    subjects: [
      subject('Bearer', servers.port, servers.accessToken),
      subject('KeySigned', servers.port, undefined, servers.keySigned.name),
      subject('KeySigned, with address and password', servers.port, undefined, servers.keySigned.everything),
    ],
  }
}
