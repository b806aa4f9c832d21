import { oneSignature } from '../floors/one-signature.ts'
import type { Comparison } from '../runner/compare.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { type ApiKey, basicFields, makeApiKey } from '../servers/credentials.ts'
import { request } from '../servers/requests.ts'

/** Compares an access token by `client_credentials` with one signature. Each connection is an OAuth client. */
export async function issueToClients(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const keys: ApiKey[] = []
  for (let client = 0; client < settings.clients; client += 1) {
    keys.push(await makeApiKey(keyhold.authOrigin, keyhold.accessToken))
  }
  const requestsOf = (client: number) => {
    const { id = '', secret = '' } = keys[client] ?? {}
    const headers = basicFields({ username: id, password: secret })
    return [request('POST /oauth/token', { token: undefined, headers, form: 'grant_type=client_credentials' })]
  }
  return {
    title: `Access tokens for ${settings.clients} OAuth clients, client_credentials`,
    unit: 'tokens',
    floors: [oneSignature()],
    subjects: [overHttp(bench, { name: 'POST /oauth/token', server: keyhold.auth, requestsOf })],
  }
}
