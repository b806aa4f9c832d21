import { oneSignature } from '../floors/one-signature.ts'
import type { Comparison } from '../runner/compare.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { refreshTokensOf } from '../servers/credentials.ts'
import { request } from '../servers/requests.ts'

/** Compares POST /refresh with one signature. */
export async function refreshTokens(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const refreshes = overHttp(bench, { name: 'POST /refresh', server: keyhold.auth, ...(await refreshesOf(bench)) })
  return {
    title: `Refresh by ${settings.callers} refresh token families`,
    unit: 'refreshes',
    floors: [oneSignature(settings)],
    subjects: [refreshes],
  }
}

/** The requests: each caller has a refresh token family, and sends its latest token. */
export async function refreshesOf({ keyhold }: Bench) {
  const tokens = await refreshTokensOf(keyhold.authOrigin, keyhold.users)
  return {
    requestsOf: () => [request('POST /refresh', { token: '{carried}' })],
    carryOf: (caller: number) => ({ member: 'refresh_token', value: tokens[caller] ?? '' }),
  }
}
