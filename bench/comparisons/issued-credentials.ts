/** Work of the auth server that ends with a new credential, beside the cryptography that it cannot do without. */
import { oneSignature } from '../floors/one-signature.ts'
import { hashConcurrency, passwordHash } from '../floors/password-hash.ts'
import type { Comparison } from '../runner/compare.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { clientTokensOf, loginsOf, refreshesOf } from './works.ts'

/** Compares POST /refresh with one signature. */
export async function refreshTokens(bench: Bench): Promise<Comparison> {
  return {
    title: `Refresh by ${bench.settings.callers} refresh token families`,
    unit: 'refreshes',
    floors: [oneSignature(bench.settings)],
    subjects: [overHttp(bench, 'POST /refresh', await refreshesOf(bench.keyhold))],
  }
}

/** Compares an access token by `client_credentials` with one signature. */
export async function issueToClients(bench: Bench): Promise<Comparison> {
  return {
    title: `Access tokens for ${bench.settings.callers} OAuth clients, client_credentials`,
    unit: 'tokens',
    floors: [oneSignature(bench.settings)],
    subjects: [overHttp(bench, 'POST /oauth/token', await clientTokensOf(bench.keyhold))],
  }
}

/** Compares a login with its password hash. */
export async function compareLogins(bench: Bench): Promise<Comparison> {
  return {
    title: `POST /login by ${bench.settings.callers} users, hashes at once: ${hashConcurrency}`,
    unit: 'logins',
    floors: [await passwordHash()],
    subjects: [overHttp(bench, 'POST /login', await loginsOf(bench, bench.keyhold))],
  }
}
