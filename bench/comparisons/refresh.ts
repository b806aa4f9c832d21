import { generateKeyPairSync, sign } from 'node:crypto'
import { repeated } from '../in-process/repeated.ts'
import type { Comparison, Subject } from '../runner/compare.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { refreshTokenOf } from '../servers/credentials.ts'
import { request } from '../servers/requests.ts'

/** Compares POST /refresh with one signature. Each connection sends the latest token of its refresh token family. */
export async function refreshTokens(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const tokens: string[] = []
  for (let client = 0; client < settings.clients; client += 1) {
    tokens.push(await refreshTokenOf(keyhold.authOrigin, keyhold.user))
  }
  const refreshes = overHttp(bench, {
    name: 'POST /refresh',
    server: keyhold.auth,
    requestsOf: () => [request('POST /refresh', { token: '{carried}' })],
    carryOf: (client) => ({ member: 'refresh_token', value: tokens[client] ?? '' }),
  })
  return {
    title: `Refresh by ${settings.clients} refresh token families`,
    unit: 'refreshes',
    floors: [oneSignature()],
    subjects: [refreshes],
  }
}

/** The floor of everything that issues a token: an RS256 signature, one after the other on one thread. */
export function oneSignature(): Subject {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const payload = Buffer.alloc(400, 'x')
  return repeated('one RS256 signature', () => sign('RSA-SHA256', payload, privateKey))
}
