import { hashConcurrency, passwordHash } from '../floors/password-hash.ts'
import type { Comparison } from '../runner/compare.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { makeUsers } from '../servers/credentials.ts'
import { request } from '../servers/requests.ts'

/** Compares a login with its password hash. */
export async function compareLogins(bench: Bench): Promise<Comparison> {
  return {
    title: `POST /login by ${bench.settings.callers} users, ${hashConcurrency} hash at once`,
    unit: 'logins',
    floors: [await passwordHash()],
    subjects: [overHttp(bench, { name: 'POST /login', server: bench.keyhold.auth, requestsOf: await loginsOf(bench) })],
  }
}

/**
 * The logins: each caller is a user of its own, because one account may have only ten attempts at once, and has an
 * address of its own, because one address may use only a tenth of the queue for hashing.
 */
export async function loginsOf({ settings, keyhold }: Bench, prefix = 'login') {
  const token = await keyhold.logIn()
  const users = await makeUsers(keyhold.authOrigin, { token, prefix, count: settings.callers })
  return (caller: number): string[] => {
    const headers = { 'X-Forwarded-For': `203.0.113.${caller}`, 'X-Forwarded-Proto': 'https' }
    return [request('POST /login', { token: undefined, headers, body: users[caller] })]
  }
}
