import { holdsOf, readsOf } from '../comparisons/works.ts'
import type { Comparison } from '../runner/compare.ts'
import { numbersOf } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { dealId, request } from '../servers/requests.ts'
import { startPeer } from './start-peer.ts'

const peerName = 'fastify + jose + pg'

const start = (bench: Bench) =>
  startPeer(bench, 'fastify-service.mjs', bench.environment.floors.url, bench.keyhold.authOrigin)

/** Compares GET of one deal with the same access token. */
export async function readBesideFastify(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const peer = await start(bench)
  const numberOf = numbersOf(bench)
  const get = (caller: number) => [
    request(`GET /deals/${dealId(numberOf(caller))}`, { token: keyhold.tokenOf(caller) }),
  ]
  return {
    title: `GET of one deal by ${settings.callers} callers, Bearer`,
    unit: 'responses',
    floors: [overHttp(bench, peerName, { server: peer, requestsOf: get })],
    subjects: [overHttp(bench, 'Keyhold', readsOf(bench, keyhold))],
  }
}

/** Compares commands. The peer does six round trips in a transaction, and keeps a row of each command. */
export async function writeBesideFastify(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { tokenOf } = keyhold
  const peer = await start(bench)
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
    floors: [overHttp(bench, `${peerName}, with the row of a command`, { server: peer, requestsOf })],
    subjects: [
      overHttp(bench, 'Keyhold', holdsOf(bench, keyhold, { named: false })),
      overHttp(bench, 'Keyhold, with Idempotency-Key', holdsOf(bench, keyhold, { named: true })),
    ],
  }
}
