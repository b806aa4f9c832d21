import { issueToClients, refreshTokens } from '../comparisons/issued-credentials.ts'
import type { Comparison } from '../runner/compare.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { basicFields } from '../servers/credentials.ts'
import { request } from '../servers/requests.ts'
import { startPeer } from './start-peer.ts'

const name = 'oidc-provider'

/** The client of the peer, with its secret encoded as in a form (RFC 6749 §2.3.1). */
const client = basicFields({ username: 'bench', password: encodeURIComponent('the secret of the benchmark') })

const post = (form: string): string => request('POST /token', { token: undefined, headers: client, form })

/** Compares refreshes. Both servers rotate refresh tokens; the peer keeps them in memory, and signs only one JWT. */
export async function refreshBesideProvider(bench: Bench): Promise<Comparison> {
  const { floors, subjects, ...own } = await refreshTokens(bench)
  const server = await startPeer(bench, 'oidc-provider.mjs', bench.settings.jwtAlg)
  const response = await fetch(`http://127.0.0.1:${server.port}/families?count=${bench.settings.callers}`)
  const tokens = (await response.json()) as string[]
  const [model = ''] = tokens
  // All tokens have the same length: so the length of the body stays right.
  const requests = [post(`grant_type=refresh_token&refresh_token=${model}`).replace(model, '{carried}')]
  const carryOf = (n: number) => ({ member: 'refresh_token', value: tokens[n] ?? '' })
  const peer = overHttp(bench, name, { server, requestsOf: () => requests, carryOf })
  return { ...own, floors: [peer, ...floors], subjects }
}

/** Compares access tokens by `client_credentials`. */
export async function issueBesideProvider(bench: Bench): Promise<Comparison> {
  const { floors, subjects, ...own } = await issueToClients(bench)
  const server = await startPeer(bench, 'oidc-provider.mjs', bench.settings.jwtAlg)
  const peer = overHttp(bench, name, { server, requestsOf: () => [post('grant_type=client_credentials')] })
  return { ...own, floors: [peer, ...floors], subjects }
}
