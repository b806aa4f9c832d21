import type { Subject } from '../runner/compare.ts'
import { type Bench, overHttp } from './bench.ts'
import { dealId, request } from './requests.ts'

/** The floor: the same deals, read by a server with one statement and nothing else. */
export const readBareDeal = (bench: Bench): Subject =>
  overHttp(bench, { name: 'bare Hono', server: bench.bareHono, requestsOf: bareReads(bench) })

/** The requests of the floor. */
export function bareReads(bench: Bench): (client: number) => string[] {
  const numberOf = numbersOf(bench)
  return (client) => [request(`GET /deals/${dealId(numberOf(client))}`, { token: undefined })]
}

/** The deal that a connection reads: they are spread over the table. */
export const numbersOf =
  ({ settings: { clients, deals } }: Bench) =>
  (client: number): number =>
    Math.floor((client * deals) / clients)
