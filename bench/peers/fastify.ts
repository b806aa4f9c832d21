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
  const { accessToken: token } = keyhold
  const peer = await start(bench)
  const numberOf = numbersOf(bench)
  const get = (client: number) => [request(`GET /deals/${dealId(numberOf(client))}`, { token })]
  const own = (client: number) => [readDeal(numberOf(client), token)]
  return {
    title: `GET of one deal by ${settings.clients} callers, Bearer`,
    unit: 'responses',
    floors: [overHttp(bench, { name: peerName, server: peer, requestsOf: get })],
    subjects: [overHttp(bench, { name: 'Keyhold', server: keyhold.deal, requestsOf: own })],
  }
}

/** Compares commands. The peer does six round trips in a transaction, and keeps a row of each command. */
export async function writeBesideFastify(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { accessToken: token } = keyhold
  const peer = await start(bench)
  const own = (name: string, named: boolean): Subject => {
    const first = bench.newDeals(settings.clients)
    const requestsOf = (client: number) => holdAndUnhold(first + client, token, { named })
    return overHttp(bench, { name, server: keyhold.deal, requestsOf })
  }
  const firstOfPeer = bench.newDeals(settings.clients)
  const put = (client: number, verb: string, body: unknown) =>
    request(`PUT /deals/${dealId(firstOfPeer + client)}/${verb}`, { token, body })
  const requestsOf = (client: number) => [
    put(client, 'hold', { reason: 'The customer asked for time' }),
    put(client, 'unhold', {}),
  ]
  return {
    title: `HoldDeal and UnholdDeal by ${settings.clients} callers, Bearer`,
    unit: 'commits',
    floors: [overHttp(bench, { name: `${peerName}, with the row of a command`, server: peer, requestsOf })],
    subjects: [own('Keyhold', false), own('Keyhold, with Idempotency-Key', true)],
  }
}
