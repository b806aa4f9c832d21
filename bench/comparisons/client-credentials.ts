import { oneSignature } from '../floors/one-signature.ts'
import type { Comparison } from '../runner/compare.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { type ApiKey, basicFields, makeApiKey } from '../servers/credentials.ts'
import { request } from '../servers/requests.ts'

/** Compares an access token by `client_credentials` with one signature. Each connection is an OAuth client. */
export async function issueToClients(bench: Bench): Promise<Comparison> {
  const requestsOf = await tokenRequestsOf(bench)
  return {
    title: `Access tokens for ${bench.settings.clients} OAuth clients, client_credentials`,
    unit: 'tokens',
    floors: [oneSignature()],
    subjects: [overHttp(bench, { name: 'POST /oauth/token', server: bench.keyhold.auth, requestsOf })],
  }
}

/** The requests of each connection, which is an OAuth client with an API key of its own. */
export async function tokenRequestsOf({ keyhold, settings }: Bench) {
  const keys: ApiKey[] = []
  for (let client = 0; client < settings.clients; client += 1) {
    keys.push(await makeApiKey(keyhold.authOrigin, keyhold.accessToken))
  }
  return (client: number) => {
    const { id = '', secret = '' } = keys[client] ?? {}
    const headers = basicFields({ username: id, password: secret })
    return [request('POST /oauth/token', { token: undefined, headers, form: 'grant_type=client_credentials' })]
  }
}
