import { oneSignature } from '../floors/one-signature.ts'
import type { Comparison } from '../runner/compare.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { basicFields, forCallers, makeApiKey } from '../servers/credentials.ts'
import { request } from '../servers/requests.ts'

/** Compares an access token by `client_credentials` with one signature. Each caller is an OAuth client. */
export async function issueToClients(bench: Bench): Promise<Comparison> {
  const requestsOf = await tokenRequestsOf(bench)
  return {
    title: `Access tokens for ${bench.settings.callers} OAuth clients, client_credentials`,
    unit: 'tokens',
    floors: [oneSignature(bench.settings)],
    subjects: [overHttp(bench, { name: 'POST /oauth/token', server: bench.keyhold.auth, requestsOf })],
  }
}

/** The requests of each caller, which is an OAuth client with an API key of its own. */
export async function tokenRequestsOf({ keyhold: { authOrigin, users, tokenOf } }: Bench) {
  const keyOf = await forCallers(users, (_, caller) => makeApiKey(authOrigin, tokenOf(caller)))
  return (caller: number) => {
    const { id, secret } = keyOf(caller)
    const headers = basicFields({ username: id, password: secret })
    return [request('POST /oauth/token', { token: undefined, headers, form: 'grant_type=client_credentials' })]
  }
}
