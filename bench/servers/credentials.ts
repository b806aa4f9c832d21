/** Makes credentials as clients do: over HTTP, at the auth server on `origin`. */
import { createHmac } from 'node:crypto'
import { get } from 'node:http'
import { systemClock as clock, unixSeconds } from '../../shared/platform/clock.ts'
import { digestHa1, digestResponse } from '../../shared/protocol/authentication/digest/digest-response.ts'

/** A user with a password. */
export interface User {
  readonly username: string
  readonly password: string
}

/** The header fields of a credential. */
export type Fields = Readonly<Record<string, string>>

/** Logs in. Returns an access token. */
export async function logIn(origin: string, user: User): Promise<string> {
  const { body } = await send('POST', `${origin}/login`, { body: user })
  return String(body.access_token)
}

/** Works on one element after another: a crowd that hashes passwords at once would be refused. */
async function oneByOne<T, Result>(all: readonly T[], work: (one: T, n: number) => Promise<Result>) {
  const results: Result[] = []
  for (const [n, one] of all.entries()) results.push(await work(one, n))
  return results
}

/** Makes something for each caller, one after another. Returns the function that finds it. */
export async function forCallers<T, Result>(callers: readonly T[], make: (one: T, caller: number) => Promise<Result>) {
  const made = await oneByOne(callers, make)
  return (caller: number): Result => {
    if (caller >= made.length) throw new RangeError(`There are ${made.length} callers, and none with number ${caller}.`)
    return made[caller] as Result
  }
}

/** Logs each user in. Returns the refresh tokens. */
export const refreshTokensOf = (origin: string, users: readonly User[]): Promise<string[]> =>
  oneByOne(users, async (user) => String((await send('POST', `${origin}/login`, { body: user })).body.refresh_token))

/** The fields of a new key-signed token. `include` names its parts: `username`, `ip`, `password`. */
export async function keySignedFields(origin: string, user: User, include: readonly string[]): Promise<Fields> {
  const { body } = await send('POST', `${origin}/key-signed-tokens`, { body: { ...user, include } })
  const password = Buffer.from(user.password).toString('base64url')
  return {
    Authorization: `KeySigned ${body.token}`,
    ...(include.includes('password') && { 'X-Key-Signed-Password': password }),
  }
}

/** The cookie field of a new session. */
export async function sessionFields(origin: string, user: User): Promise<Fields> {
  const { headers } = await send('POST', `${origin}/sessions`, { body: user })
  const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';')
  return { Cookie: cookie }
}

/** The field of Basic. */
export const basicFields = ({ username, password }: User): Fields => ({
  Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
})

/** An API key of the kind `hmac`. */
export interface ApiKey {
  readonly id: string
  readonly secret: string
}

/** Creates an HMAC API key for the user of the token. */
export async function makeApiKey(origin: string, token: string): Promise<ApiKey> {
  const { body } = await send('POST', `${origin}/api-keys`, { token, body: { kind: 'hmac' } })
  return { id: String(body.id), secret: String(body.secret) }
}

/** Path and query, signed now. The request may be sent again within SIGNATURE_TTL. */
export function signPath({ id, secret }: ApiKey, path: string): string {
  const timestamp = unixSeconds(clock.now())
  const signature = createHmac('sha256', secret).update(`${path}?apikey=${id}&timestamp=${timestamp}`).digest('hex')
  return `${path}?timestamp=${timestamp}&apiKey=${id}&signature=${signature}`
}

/** Creates `count` users, all administrators. `token` belongs to one. */
export function makeUsers(
  origin: string,
  { token, prefix, count }: { token: string; prefix: string; count: number },
): Promise<User[]> {
  const users = Array.from({ length: count }, (_, n) => ({
    username: `${prefix}-${n}`,
    password: `the password of number ${n}`,
  }))
  const make = async (user: User) => {
    await send('POST', `${origin}/users`, { token, body: { ...user, roles: ['admin'] } })
    return user
  }
  return oneByOne(users, make)
}

/** A user and H(A1) of the Digest secret. */
export interface DigestUser {
  readonly username: string
  readonly ha1: string
}

/** Creates the Digest secret of a user. `token` belongs to an administrator. */
export async function makeDigestUser(origin: string, token: string, { username }: User): Promise<DigestUser> {
  const { body } = await send('PUT', `${origin}/users/${username}/digest-secret`, { token })
  return { username, ha1: digestHa1(username, String(body.secret)) }
}

/** A nonce from the challenge of a server. `fetch` sends `Sec-Fetch-Mode` like a browser, and gets no challenge. */
export const askForNonce = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      response.resume()
      const [, nonce] = /\bnonce="([^"]+)"/.exec(String(response.headers['www-authenticate'])) ?? []
      if (nonce === undefined) reject(new Error(`${response.statusCode} without a Digest challenge`))
      else resolve(nonce)
    }).on('error', reject)
  })

/** The fields for GET number `count` of `uri` with this nonce. */
export function digestFields(user: DigestUser, { nonce, uri, count }: { nonce: string; uri: string; count: number }) {
  const nc = count.toString(16).padStart(8, '0')
  const cnonce = 'bench'
  const response = digestResponse(user.ha1, { nonce, nc, cnonce, method: 'GET', uri })
  return {
    Authorization:
      `Digest username="${user.username}", realm="keyhold", nonce="${nonce}", uri="${uri}", algorithm=SHA-256, ` +
      `qop=auth, nc=${nc}, cnonce="${cnonce}", response="${response}", opaque="keyhold"`,
  }
}

/** Sends one request. @throws Error for a response that is no success */
export async function send(method: string, url: string, { token, body = {} }: { token?: string; body?: unknown }) {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const headers = { 'content-type': 'application/json', ...authorization }
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} was answered ${response.status}: ${text}`)
  return { headers: response.headers, body: JSON.parse(text) as Record<string, unknown> }
}
