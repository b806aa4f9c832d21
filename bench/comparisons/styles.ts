import type { Comparison, Subject } from '../runner/compare.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { dealId, request, type Token } from '../servers/requests.ts'

const reason = 'The customer asked for time'
const withKey = { 'Idempotency-Key': `{n}-${Date.now()}` }

/** How one style holds and releases a deal. */
interface Style {
  readonly name: string
  /** The status of its responses; 200 when left out. */
  readonly expected?: string
  requests(id: string, token: Token): string[]
}

const actionSubResource =
  (headers: Readonly<Record<string, string>>): Style['requests'] =>
  (id, token) => [
    request(`PUT /rest/v1/deals/${id}/hold`, { token, headers, body: { reason } }),
    request(`PUT /rest/v1/deals/${id}/unhold`, { token, headers }),
  ]

const stateNamed: Style['requests'] = (id, token) => [
  request(`PUT /rest/v1/deals/${id}/holded`, { token, body: { reason } }),
  request(`PUT /rest/v1/deals/${id}/unholded`, { token }),
]

const singleUpdate: Style['requests'] = (id, token) => [
  request(`PUT /rest/v1/deals/${id}`, { token, body: { action: 'HoldDeal', params: { reason } } }),
  request(`PUT /rest/v1/deals/${id}`, { token, body: { action: 'UnholdDeal', params: {} } }),
]

const attributeUpdate: Style['requests'] = (id, token) => [
  request(`PATCH /rest/v1/deals/${id}`, { token, body: { held: true, holdReason: reason } }),
  request(`PATCH /rest/v1/deals/${id}`, { token, body: { held: false } }),
]

const controllers: Style['requests'] = (id, token) => [
  request('POST /command/HoldDeal/', { token, body: { id, reason } }),
  request('POST /command/UnholdDeal/', { token, body: { id } }),
]

const globalCollection: Style['requests'] = (deal, token) => [
  request('PUT /commands/{n}-g', { token, body: { deal, action: 'HoldDeal', params: { reason } } }),
  request('PUT /commands/{n}-g', { token, body: { deal, action: 'UnholdDeal', params: {} } }),
]

const perDealCollection: Style['requests'] = (id, token) => [
  request(`PUT /rest/v1/deals/${id}/commands/{n}-d`, { token, body: { action: 'HoldDeal', params: { reason } } }),
  request(`PUT /rest/v1/deals/${id}/commands/{n}-d`, { token, body: { action: 'UnholdDeal', params: {} } }),
]

/** Compares commands without an id in each style with style 1. */
export const compareStyles = (bench: Bench): Promise<Comparison> =>
  comparisonOf(bench, 'HoldDeal and UnholdDeal in each style', [
    { name: '1 action sub-resource', requests: actionSubResource({}) },
    { name: '2 state-named sub-resource', requests: stateNamed },
    { name: '3 single update with action', requests: singleUpdate },
    { name: '4 attribute update (PATCH)', requests: attributeUpdate },
    { name: '7 command controller', requests: controllers },
  ])

/** Compares commands with an id in styles 5 and 6 with style 1 and an Idempotency-Key. */
export const compareNamedStyles = (bench: Bench): Promise<Comparison> =>
  comparisonOf(bench, 'The same, each command with an id of its own', [
    { name: '1 action sub-resource, Idempotency-Key', requests: actionSubResource(withKey) },
    { name: '5 global command collection', expected: '201', requests: globalCollection },
    { name: '6 per-deal command collection', expected: '201', requests: perDealCollection },
  ])

async function comparisonOf(bench: Bench, title: string, [first, ...others]: readonly Style[]): Promise<Comparison> {
  const { keyhold, settings } = bench
  const subject = ({ name, requests, expected = '200' }: Style): Subject => {
    const from = bench.newDeals(settings.callers)
    const requestsOf = (caller: number) => requests(dealId(from + caller), keyhold.tokenOf(caller))
    return overHttp(bench, { name, server: keyhold.deal, requestsOf, expected })
  }
  if (!first) throw new TypeError('There is nothing to compare.')
  return { title, unit: 'commands', floors: [subject(first)], subjects: others.map(subject) }
}
