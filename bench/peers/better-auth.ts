import { randomUUID } from 'node:crypto'
import type { Comparison } from '../runner/compare.ts'
import { numbersOf } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { sessionFields } from '../servers/credentials.ts'
import { readDeal, request } from '../servers/requests.ts'
import { startPeer } from './start-peer.ts'

/** Compares requests with a session cookie: the session of better-auth, and GET /me and GET of a deal. */
export async function besideBetterAuth(bench: Bench): Promise<Comparison> {
  const { keyhold, settings, environment } = bench
  const server = await startPeer(bench, 'better-auth.mjs', environment.databases.floors.url)
  const ofPeer = await signUp(server.port)
  const session = await sessionFields(keyhold.authOrigin, keyhold.user)
  const get = (line: string, headers: Readonly<Record<string, string>>) => [
    request(line, { token: undefined, headers }),
  ]
  const numberOf = numbersOf(bench)
  const peer = { name: 'better-auth, get-session', server, requestsOf: () => get('GET /api/auth/get-session', ofPeer) }
  return {
    title: `GET with a session by ${settings.clients} callers`,
    unit: 'responses',
    floors: [overHttp(bench, peer)],
    subjects: [
      overHttp(bench, { name: 'Keyhold, GET /me', server: keyhold.auth, requestsOf: () => get('GET /me', session) }),
      overHttp(bench, {
        name: 'Keyhold, GET of a deal',
        server: keyhold.deal,
        requestsOf: (client) => [readDeal(numberOf(client), undefined, session)],
      }),
    ],
  }
}

/** Creates a user of the peer. Returns the cookie field of its session. */
async function signUp(port: number): Promise<Readonly<Record<string, string>>> {
  const origin = `http://127.0.0.1:${port}`
  const response = await fetch(`${origin}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ email: 'bench@example.com', password: randomUUID(), name: 'bench' }),
  })
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
  if (cookie === '') throw new Error(`better-auth answered ${response.status}: ${await response.text()}`)
  return { Cookie: cookie }
}
