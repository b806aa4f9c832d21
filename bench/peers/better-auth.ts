import { randomUUID } from 'node:crypto'
import type { Comparison } from '../runner/compare.ts'
import { numbersOf } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { type Fields, forCallers, sessionFields } from '../servers/credentials.ts'
import { readDeal, request } from '../servers/requests.ts'
import { startPeer } from './start-peer.ts'

/** Compares requests with a session cookie: the session of better-auth, and GET /me and GET of a deal. */
export async function besideBetterAuth(bench: Bench): Promise<Comparison> {
  const { keyhold, settings, environment } = bench
  const server = await startPeer(bench, 'better-auth.mjs', environment.floors.url)
  const ofPeer = await forCallers(keyhold.users, (_, caller) => signUp(server.port, caller))
  const sessionOf = await forCallers(keyhold.users, (user) => sessionFields(keyhold.authOrigin, user))
  const get = (line: string, fieldsOf: (caller: number) => Fields) => (caller: number) => [
    request(line, { token: undefined, headers: fieldsOf(caller) }),
  ]
  const numberOf = numbersOf(bench)
  const peer = { server, requestsOf: get('GET /api/auth/get-session', ofPeer) }
  return {
    title: `GET with a session by ${settings.callers} callers`,
    unit: 'responses',
    floors: [overHttp(bench, 'better-auth, get-session', peer)],
    subjects: [
      overHttp(bench, 'Keyhold, GET /me', { server: keyhold.auth, requestsOf: get('GET /me', sessionOf) }),
      overHttp(bench, 'Keyhold, GET of a deal', {
        server: keyhold.deal,
        requestsOf: (caller) => [readDeal(numberOf(caller), undefined, sessionOf(caller))],
      }),
    ],
  }
}

/** Creates a user of the peer. Returns the cookie field of its session. */
async function signUp(port: number, caller: number): Promise<Fields> {
  const origin = `http://127.0.0.1:${port}`
  const response = await fetch(`${origin}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ email: `bench-${caller}@example.com`, password: randomUUID(), name: 'bench' }),
  })
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
  if (cookie === '') throw new Error(`better-auth answered ${response.status}: ${await response.text()}`)
  return { Cookie: cookie }
}
