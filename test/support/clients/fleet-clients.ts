/** Clients of a fleet: users made for the purpose, and every way in which they can call. */
import { expect } from 'vitest'
import type { Member } from '../worlds/fleet.ts'
import { logIn, passwordOf, type TestServer } from '../worlds/stack.ts'
import { rememberSecret, send } from './http-client.ts'
import { cookieSetBy } from './pages/sign-in.ts'
import { digestCredential } from './scheme-clients/digest.ts'
import { keySignedHeaders, keySignedToken } from './scheme-clients/key-signed.ts'
import { signUrl } from './signing.ts'

/** A user with all that it needs for every scheme. */
export interface FleetUser {
  readonly username: string
  readonly token: string
  /** What carries each scheme's credential, for a GET of this URL. */
  readonly schemes: Readonly<Record<string, (url: string) => { url: string; headers: Record<string, string> }>>
  /** A Digest call with a nonce of any server. */
  digest(url: string, nonce: FleetNonce): Promise<number>
}

/** A Digest nonce, counted up. */
export interface FleetNonce {
  readonly nonce: string
  count: number
}

/** A path of a server that needs a caller who may read. */
export const pathOf = ({ kind }: Member): string => (kind === 'auth' ? '/me' : '/rest/v1/deals?limit=1')

let serial = 0

/** Makes a user at this auth server, and one credential of each scheme. */
export async function newFleetUser(auth: TestServer): Promise<FleetUser> {
  serial += 1
  const username = `user-${serial}`
  const password = `the password of ${username}`
  const { access: admin } = await logIn(auth, 'admin', passwordOf('admin'))
  const made = async (path: string, json: object, status: number, method = 'POST') => {
    const reply = await auth.send(path, { method, token: admin, json })
    expect({ path, status: reply.status }).toEqual({ path, status })
    return reply.body
  }
  await made('/users', { username, password, roles: ['viewer'] }, 201)
  const { secret } = await made(`/users/${username}/digest-secret`, {}, 200, 'PUT')
  const key = await made('/api-keys', { kind: 'hmac', username }, 201)
  for (const each of [secret, key.secret]) rememberSecret(String(each))
  const signing = { id: String(key.id), secret: String(key.secret) }
  const { access: token } = await logIn(auth, username, password)
  const session = await auth.send('/sessions', { json: { username, password } })
  const cookie = cookieSetBy(session)
  const keySigned = await keySignedToken(auth, { username, password })
  const basic = Buffer.from(`${username}:${password}`).toString('base64')
  rememberSecret(basic)
  const withHeaders = (headers: Record<string, string>) => (url: string) => ({ url, headers })
  return {
    username,
    token,
    schemes: {
      bearer: withHeaders({ authorization: `Bearer ${token}` }),
      basic: withHeaders({ authorization: `Basic ${basic}` }),
      session: withHeaders({ cookie: `${cookie?.name}=${cookie?.value}` }),
      'key-signed': withHeaders(keySignedHeaders(keySigned)),
      'signed-request': (url) => {
        const timestamp = Math.floor(Date.now() / 1000)
        return { url: signUrl(signing, { method: 'GET', url }, { timestamp }), headers: {} }
      },
    },
    digest: async (url, nonce) => {
      nonce.count += 1
      const { pathname, search } = new URL(url)
      const input = { username, secret: String(secret), method: 'GET', uri: pathname + search, ...nonce }
      return (await send(url, { headers: { authorization: digestCredential(input) } })).status
    },
  }
}
