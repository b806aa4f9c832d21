/** The six kinds of work that are measured most: what each caller sends, to one installation of Keyhold. */
import { numbersOf } from '../servers/bare-reads.ts'
import type { Bench, HttpWork } from '../servers/bench.ts'
import { basicFields, forCallers, makeApiKey, makeUsers, refreshTokensOf } from '../servers/credentials.ts'
import type { Keyhold } from '../servers/keyhold.ts'
import { holdAndUnhold, readDeal, request } from '../servers/requests.ts'

/** GET of one deal, Bearer. */
export function readsOf(bench: Bench, { deal: server, tokenOf }: Keyhold): HttpWork {
  const numberOf = numbersOf(bench)
  return { server, requestsOf: (caller) => [readDeal(numberOf(caller), tokenOf(caller))] }
}

/** HoldDeal and UnholdDeal in turn, each caller on its own deal. `named` gives each command an id. */
export function holdsOf(bench: Bench, { deal: server, tokenOf }: Keyhold, { named }: { named: boolean }): HttpWork {
  const first = bench.newDeals(bench.settings.callers)
  return { server, requestsOf: (caller) => holdAndUnhold(first + caller, tokenOf(caller), { named }) }
}

/** POST /refresh: each caller has a refresh token family, and sends its latest token. */
export async function refreshesOf({ auth: server, authOrigin, users }: Keyhold): Promise<HttpWork> {
  const tokens = await refreshTokensOf(authOrigin, users)
  return {
    server,
    requestsOf: () => [request('POST /refresh', { token: '{carried}' })],
    carryOf: (caller) => ({ member: 'refresh_token', value: tokens[caller] ?? '' }),
  }
}

/** POST /oauth/token: each caller is an OAuth client with an API key of its own. */
export async function clientTokensOf({ auth: server, authOrigin, users, tokenOf }: Keyhold): Promise<HttpWork> {
  const keyOf = await forCallers(users, (_, caller) => makeApiKey(authOrigin, tokenOf(caller)))
  const requestsOf = (caller: number) => {
    const { id, secret } = keyOf(caller)
    const headers = basicFields({ username: id, password: secret })
    return [request('POST /oauth/token', { token: undefined, headers, form: 'grant_type=client_credentials' })]
  }
  return { server, requestsOf }
}

/**
 * POST /login: each caller is a user of its own, because one account may have only ten attempts at once, and has an
 * address of its own, because one address may use only a tenth of the queue for hashing.
 */
export async function loginsOf(
  { settings }: Bench,
  { auth: server, authOrigin, accessToken }: Keyhold,
): Promise<HttpWork> {
  const users = await makeUsers(authOrigin, { token: accessToken, prefix: 'login', count: settings.callers })
  const requestsOf = (caller: number) => {
    const headers = { 'X-Forwarded-For': `203.0.113.${caller}`, 'X-Forwarded-Proto': 'https' }
    return [request('POST /login', { token: undefined, headers, body: users[caller] })]
  }
  return { server, requestsOf }
}
