import type { Comparison } from '../runner/compare.ts'
import { numbersOf, readBareDeal } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { basicFields, send } from '../servers/credentials.ts'
import { readDeal, request } from '../servers/requests.ts'

/** Compares decisions (AuthZEN) for a service with GET of a deal: both find out whether a user has a right. */
export async function askForDecisions(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { auth, deal, authOrigin: origin, accessToken: token, tokenOf, users } = keyhold
  const numberOf = numbersOf(bench)
  const service = { name: 'bench', resourceServer: 'deals' }
  const { id, secret } = (await send('POST', `${origin}/services`, { token, body: service })).body
  const headers = basicFields({ username: String(id), password: String(secret) })
  const askAbout = (caller: number) => ({
    subject: { type: 'user', id: users[caller]?.username },
    action: { name: 'deal.read' },
  })
  const one = { resource: { type: 'deal', id: '1' } }
  const hundred = {
    evaluations: Array.from({ length: 100 }, (_, n) => ({ resource: { type: 'deal', id: `${n}` } })),
  }
  const ask = (name: string, path: string, body: object) => {
    const requestsOf = (caller: number) => [
      request(`POST ${path}`, { token: undefined, headers, body: Object.assign(askAbout(caller), body) }),
    ]
    return overHttp(bench, { name, server: auth, requestsOf })
  }
  return {
    title: `Decisions for a service by ${settings.clients} connections`,
    unit: 'responses',
    floors: [
      readBareDeal(bench),
      overHttp(bench, {
        name: 'GET of a deal, Bearer',
        server: deal,
        requestsOf: (caller) => [readDeal(numberOf(caller), tokenOf(caller))],
      }),
    ],
    subjects: [
      ask('POST /access/v1/evaluation', '/access/v1/evaluation', one),
      ask('POST /access/v1/evaluations, 100 in one', '/access/v1/evaluations', hundred),
    ],
  }
}
