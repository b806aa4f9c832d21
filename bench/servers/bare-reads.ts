import type { Subject } from '../runner/compare.ts'
import { type Bench, overHttp } from './bench.ts'
import { dealId, request } from './requests.ts'

/** The floor: the same deals, read by a server with one statement and nothing else. */
export const readBareDeal = (bench: Bench): Subject =>
  overHttp(bench, 'bare Hono', { server: bench.bareHono, requestsOf: bareReads(bench) })

/** The requests of the floor. */
export function bareReads(bench: Bench): (caller: number) => string[] {
  const numberOf = numbersOf(bench)
  return (caller) => [request(`GET /deals/${dealId(numberOf(caller))}`, { token: undefined })]
}

/** The deal that a caller reads: they are spread over the table. */
export const numbersOf =
  ({ settings: { callers, deals } }: Bench) =>
  (caller: number): number =>
    Math.floor((caller * deals) / callers)
