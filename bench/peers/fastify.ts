import type { Comparison, Subject } from '../runner/compare.ts'
import { numbersOf } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { dealId, holdAndUnhold, readDeal, request } from '../servers/requests.ts'
import { startPeer } from './start-peer.ts'

const peerName = 'fastify + jose + pg'

const start = (bench: Bench) =>
  startPeer(bench, 'fastify-service.mjs', bench.environment.databases.floors.url, bench.keyhold.authOrigin)

/** Compares GET of one deal with the same access token. */
export async function readBesideFastify(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { tokenOf } = keyhold
  const peer = await start(bench)
  const numberOf = numbersOf(bench)
  const get = (caller: number) => [request(`GET /deals/${dealId(numberOf(caller))}`, { token: tokenOf(caller) })]
  const own = (caller: number) => [readDeal(numberOf(caller), tokenOf(caller))]
  return {
    title: `GET of one deal by ${settings.callers} callers, Bearer`,
    unit: 'responses',
    floors: [overHttp(bench, { name: peerName, server: peer, requestsOf: get })],
    subjects: [overHttp(bench, { name: 'Keyhold', server: keyhold.deal, requestsOf: own })],
  }
}

/** Compares commands. The peer does six round trips in a transaction, and keeps a row of each command. */
export async function writeBesideFastify(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { tokenOf } = keyhold
  const peer = await start(bench)
  const own = (name: string, named: boolean): Subject => {
    const first = bench.newDeals(settings.callers)
    const requestsOf = (caller: number) => holdAndUnhold(first + caller, tokenOf(caller), { named })
    return overHttp(bench, { name, server: keyhold.deal, requestsOf })
  }
  const firstOfPeer = bench.newDeals(settings.callers)
  const put = (caller: number, verb: string, body: unknown) =>
    request(`PUT /deals/${dealId(firstOfPeer + caller)}/${verb}`, { token: tokenOf(caller), body })
  const requestsOf = (caller: number) => [
    put(caller, 'hold', { reason: 'The customer asked for time' }),
    put(caller, 'unhold', {}),
  ]
  return {
    title: `HoldDeal and UnholdDeal by ${settings.callers} callers, Bearer`,
    unit: 'commits',
    floors: [overHttp(bench, { name: `${peerName}, with the row of a command`, server: peer, requestsOf })],
    subjects: [own('Keyhold', false), own('Keyhold, with Idempotency-Key', true)],
  }
}
