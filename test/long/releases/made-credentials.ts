/** Users and all kinds of credentials, made at servers of whatever release; and requests with them. */
import { randomUUID } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { expect } from 'vitest'
import { type Reply, rememberSecret, type Sent } from '../../support/clients/http-client.ts'
import { cookieSetBy, formOf } from '../../support/clients/pages/sign-in.ts'
import { askForNonce, digestCredential } from '../../support/clients/scheme-clients/digest.ts'
import { keySignedHeaders, keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { type ClientKey, clientKeyOf, signUrl } from '../../support/clients/signing.ts'
import { logIn, type TestServer, type Tokens } from '../../support/worlds/stack.ts'
import type { Servers } from './servers.ts'

/** Every user has this one but `admin`. */
export const password = 'a good long password'

/** Sends a request that must be answered with this status. */
export async function call(server: TestServer, status: number, path: string, sent: Sent = {}): Promise<Reply> {
  const reply = await server.send(path, sent)
  expect(reply.status, `${path}: ${reply.text}`).toBe(status)
  return reply
}

/** Sends a request to either server with one credential. */
export type SendWith = (server: TestServer, path: string) => Promise<Reply>

const withHeaders =
  (headers: Readonly<Record<string, string>>): SendWith =>
  (server, path) =>
    server.send(path, { headers })

export const withToken = (token: string): SendWith => withHeaders({ authorization: `Bearer ${token}` })

const withKey =
  (key: ClientKey): SendWith =>
  async (server, path) => {
    const signing = { timestamp: Math.floor(Date.now() / 1000), nonce: randomUUID() }
    const signed = new URL(signUrl(key, { method: 'GET', url: server.url + path }, signing))
    return server.send(signed.pathname + signed.search)
  }

const withDigest =
  (username: string, secret: string): SendWith =>
  async (server, path) => {
    const nonce = await askForNonce(server.url)
    const input = { username, secret, nonce, method: 'GET', uri: path, count: 1 }
    return server.send(path, { headers: { authorization: digestCredential(input) } })
  }

const basic = (username: string): SendWith =>
  withHeaders({ authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` })

/** What was made, and what comes of it at both servers. */
export interface MadeCredentials {
  /** By kind: each reads deals and `/me`. */
  readonly accepted: Readonly<Record<string, SendWith>>
  /** By what was revoked: each is refused. */
  readonly refused: Readonly<Record<string, SendWith>>
  /** Refresh tokens, the latest last. */
  readonly refreshTokens: readonly string[]
  readonly stolenRefreshTokens: readonly string[]
  readonly totpSecret: string
  readonly recoveryCodes: readonly string[]
  readonly resetCode: string
  readonly usernames: readonly string[]
}

const users = [
  { username: 'alice', roles: ['manager'] },
  { username: 'carol', roles: ['agent'], rights: ['deal.delete', 'deal.restore'] },
  { username: 'erin', roles: ['manager'] },
  { username: 'frank', roles: [], rights: ['deal.read', 'deal.history.read'] },
  { username: 'grace', roles: ['viewer'] },
  { username: 'bob', roles: ['viewer'] },
  { username: 'dave', roles: ['viewer'] },
  { username: 'heidi', roles: ['clerk'] },
]

/** Rights of another service, a role with one of them, and the credential of that service. */
const catalogue = [
  [
    '/resource-servers',
    {
      id: 'books',
      audience: 'urn:books',
      name: 'Books',
      rights: [{ name: 'book.lend', description: 'Lend books', readsOnly: false }],
    },
  ],
  ['/roles', { name: 'clerk', description: 'Lends', rights: ['deal.read', 'book.lend'] }],
  ['/services', { name: 'lending', resourceServer: 'books' }],
] as const

/** The next refresh token, with the access token. */
export async function refresh(auth: TestServer, refreshToken: string): Promise<Tokens> {
  const { body } = await call(auth, 200, '/refresh', { method: 'POST', token: refreshToken })
  return { access: String(body.access_token), refresh: String(body.refresh_token) }
}

/** Makes all of it. `admin` is an access token. */
export async function makeCredentials(servers: Servers, admin: string): Promise<MadeCredentials> {
  const { auth } = servers
  for (const [path, json] of catalogue) await call(auth, 201, path, { token: admin, json })
  for (const user of users) await call(auth, 201, '/users', { token: admin, json: { ...user, password } })
  const refused = await makeRevoked(servers, admin)
  const login = await logIn(auth, 'alice', password)
  const refreshed = await refresh(auth, login.refresh)
  const stolen = [(await logIn(auth, 'alice', password)).refresh]
  while (stolen.length < 4) stolen.push((await refresh(auth, stolen.at(-1) ?? '')).refresh)
  const { secret } = (
    await call(auth, 200, '/users/carol/digest-secret', { method: 'PUT', ...(await proof(auth, 'carol')) })
  ).body
  rememberSecret(String(secret))
  const reset = await call(auth, 201, '/users/frank/password-reset', { method: 'POST', token: admin })
  return {
    accepted: {
      'access token': withToken(refreshed.access),
      session: withHeaders({ cookie: await beginSession(auth, 'alice') }),
      'key-signed token': withHeaders(keySignedHeaders(await keySignedToken(auth, { username: 'alice', password }))),
      Basic: basic('alice'),
      'Basic, by the right of a role of their own': basic('heidi'),
      Digest: withDigest('carol', String(secret)),
      ...(await makeApiKeys(auth)),
    },
    refused,
    refreshTokens: [login.refresh, refreshed.refresh],
    stolenRefreshTokens: stolen,
    ...(await makeSecondFactor(auth)),
    resetCode: String(reset.body.code),
    usernames: users.map(({ username }) => username).filter((username) => username !== 'dave'),
  }
}

const proof = async (auth: TestServer, username: string): Promise<Sent> => ({
  token: (await logIn(auth, username, password)).access,
  json: { password },
})

async function beginSession(auth: TestServer, username: string): Promise<string> {
  const { name, value } = cookieSetBy(await call(auth, 201, '/sessions', formOf({ username, password }))) ?? {}
  return `${name}=${value}`
}

async function makeKey(auth: TestServer, token: string, json: object): Promise<ClientKey> {
  return clientKeyOf((await call(auth, 201, '/api-keys', { token, json: { ...json, password } })).body)
}

async function makeApiKeys(auth: TestServer): Promise<Record<string, SendWith>> {
  const { access: token } = await logIn(auth, 'alice', password)
  const [hmac, rsa, narrowed, former] = [
    await makeKey(auth, token, { kind: 'hmac', name: 'hmac' }),
    await makeKey(auth, token, { kind: 'rsa', name: 'rsa' }),
    await makeKey(auth, token, { kind: 'hmac', name: 'narrowed', rights: ['deal.read'] }),
    await makeKey(auth, token, { kind: 'hmac', name: 'rotated' }),
  ]
  const rotated = await call(auth, 200, `/api-keys/${former.id}/rotate`, { token, json: { password } })
  return {
    'API key, HMAC': withKey(hmac),
    'API key, RSA': withKey(rsa),
    'API key of narrowed rights': withKey(narrowed),
    'API key after a rotation': withKey(clientKeyOf(rotated.body)),
    'API key with the secret before a rotation': withKey(former),
    'access token of an API key': withToken(await keyToken(auth, hmac)),
  }
}

const asClient = ({ id, secret }: ClientKey, fields: Readonly<Record<string, string>>): Sent =>
  formOf({ ...fields, client_id: id, client_secret: String(secret) })

const keyToken = async (auth: TestServer, key: ClientKey): Promise<string> =>
  String((await call(auth, 200, '/oauth/token', asClient(key, { grant_type: 'client_credentials' }))).body.access_token)

/** Credentials that were good, and were revoked in every way. */
async function makeRevoked({ auth }: Servers, admin: string): Promise<Record<string, SendWith>> {
  const { access: token } = await logIn(auth, 'alice', password)
  const [loggedOut, session, key, clientKey] = [
    await logIn(auth, 'alice', password),
    await beginSession(auth, 'alice'),
    await makeKey(auth, token, { kind: 'hmac', name: 'revoked' }),
    await makeKey(auth, token, { kind: 'hmac', name: 'client' }),
  ]
  const tokenOfKey = await keyToken(auth, clientKey)
  const [ofGrace, ofBob, ofDave] = [
    (await logIn(auth, 'grace', password)).access,
    (await logIn(auth, 'bob', password)).access,
    (await logIn(auth, 'dave', password)).access,
  ]
  await call(auth, 204, '/logout', { method: 'POST', token: loggedOut.access })
  await call(auth, 204, `/sessions/${session.split('=')[1]}`, { method: 'DELETE' })
  await call(auth, 204, `/api-keys/${key.id}`, { method: 'DELETE', token })
  await call(auth, 200, '/oauth/revoke', asClient(clientKey, { token: tokenOfKey }))
  await call(auth, 204, '/users/grace/logout', { method: 'POST', token: admin })
  await call(auth, 200, '/users/bob', { method: 'PATCH', token: admin, json: { enabled: false } })
  await call(auth, 204, '/users/dave', { method: 'DELETE', token: admin })
  return {
    'access token of a login that logged out': withToken(loggedOut.access),
    'session that ended': withHeaders({ cookie: session }),
    'API key that was deleted': withKey(key),
    'access token that its client revoked': withToken(tokenOfKey),
    'access token of a user who was logged out': withToken(ofGrace),
    'access token of a disabled user': withToken(ofBob),
    'Basic of a disabled user': basic('bob'),
    'access token of a deleted user': withToken(ofDave),
  }
}

/** A code of a step that no code was used of before. */
export const codeOf = (secret: string, step: 0 | 1): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + step * 30_000 })

async function makeSecondFactor(auth: TestServer): Promise<Pick<MadeCredentials, 'totpSecret' | 'recoveryCodes'>> {
  const { access: token } = await logIn(auth, 'erin', password)
  const { body } = await call(auth, 200, '/me/second-factors/totp', { token, json: { password } })
  const totpSecret = String(body.secret)
  rememberSecret(totpSecret)
  const confirmation = { challenge: body.challenge, code: codeOf(totpSecret, 0) }
  await call(auth, 201, '/me/second-factors/totp/confirm', { token, json: confirmation })
  const made = await call(auth, 201, '/me/second-factors/recovery-codes', { token, json: { password } })
  const recoveryCodes = (made.body.codes as string[]).map(String)
  await call(auth, 200, '/login', { json: { username: 'erin', password, code: recoveryCodes[0] } })
  return { totpSecret, recoveryCodes }
}
