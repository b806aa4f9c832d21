/** Sends a request to one of the servers, and says in one word or two what came of it. */
import { createHash, randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { membersOf } from '../../../support/clients/http-client.ts'
import { type Role, roles, type Side, signerKey } from './sides.ts'

/** What a parameter is: null leaves it out, a list sends it several times. */
export type Value = string | null | readonly string[] | ((side: Side) => string)

/** Parameters in place of those that are right. */
export type Changes = Readonly<Record<string, Value>>

/** The verifier of all requests (RFC 7636). */
export const verifier = 'a-verifier-of-the-oracle-with-43-characters'

/** The challenge of a verifier. */
export const challengeOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** Parameters with their changes, as they are sent. */
export function parametersOf(side: Side, base: Changes, changes: Changes = {}): URLSearchParams {
  const pairs = Object.entries({ ...base, ...changes }).flatMap(([name, value]) => {
    const sent = typeof value === 'function' ? value(side) : value
    const values = typeof sent === 'string' ? [sent] : (sent ?? [])
    return values.map((one): [string, string] => [name, one])
  })
  return new URLSearchParams(pairs)
}

const ofRole = (role: Role): Changes => ({
  response_type: 'code',
  client_id: ({ clients }) => clients[role].id,
  redirect_uri: roles[role].redirectUris[0],
  scope: 'openid',
  state: 'the state',
  nonce: 'the nonce',
  code_challenge: challengeOf(verifier),
  code_challenge_method: 'S256',
})

/** How a browser asks. */
export interface Asking {
  readonly method?: 'POST'
  /** False: nobody is signed in. */
  readonly isSignedIn?: boolean
  /** The whole query, in place of the right one with its changes. */
  readonly only?: Changes
}

/** Asks for a code, and follows to where the server leaves the browser. */
export async function authorize(side: Side, role: Role, changes: Changes = {}, asking: Asking = {}): Promise<URL> {
  const query = asking.only ? parametersOf(side, asking.only) : parametersOf(side, ofRole(role), changes)
  const cookie = asking.isSignedIn === false ? {} : { cookie: side.cookie }
  let url = new URL(`${side.endpoints.authorize}${asking.method ? '' : `?${query}`}`)
  let init: RequestInit = { headers: { accept: 'text/html', ...cookie }, redirect: 'manual' }
  if (asking.method) init = { ...init, method: 'POST', body: query }
  for (let step = 0; step < 5; step += 1) {
    const response = await fetch(url, init)
    await response.arrayBuffer()
    const location = response.headers.get('location')
    if (location === null) return new URL(`page:${response.status}`)
    // RFC 9700 §4.12: another status would send a form on.
    if (![302, 303].includes(response.status)) throw new Error(`redirects by ${response.status}`)
    url = new URL(location, url)
    init = { headers: { accept: 'text/html', ...cookie }, redirect: 'manual' }
    if (!url.href.startsWith(side.endpoints.authorize)) return url
  }
  throw new Error('the redirects do not end')
}

/** `page`, `sign-in`, `consent`, `code`, or an error that the client learns; RFC 9207 wants `iss` in both. */
export function outcomeOf(side: Side, url: URL): string {
  if (url.protocol === 'page:') return 'page'
  if (url.origin === new URL(side.issuer).origin) return /sign-in/.test(url.pathname) ? 'sign-in' : 'consent'
  const query = url.hash === '' ? url.searchParams : new URLSearchParams(url.hash.slice(1))
  if (query.get('iss') !== side.issuer) return `no iss: ${url.href}`
  return (url.hash === '' ? '' : 'fragment: ') + (query.has('code') ? 'code' : query.get('error'))
}

/** The code of a request that is right but for its changes. */
export async function codeOf(side: Side, role: Role, changes: Changes = {}): Promise<string> {
  const url = await authorize(side, role, changes)
  return url.searchParams.get('code') ?? raise(url.href)
}

/** How a client proves itself; null: not at all. */
export type Proof = (side: Side) => Promise<{ readonly headers?: Record<string, string>; readonly form?: Changes }>

/** Basic with these, form-encoded (RFC 6749 §2.3.1). */
export const basic = (id: string, secret: string) => ({
  headers: {
    authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
  },
})

/** The proof that is right for a client. */
export const proofOf =
  (role: Role): Proof =>
  async (side) => {
    const { id, secret } = side.clients[role]
    if (role === 'signer') return { form: await assertionOf(side, {}) }
    if (role === 'post') return { form: { client_id: id, client_secret: secret } }
    return secret === '' ? { form: { client_id: id } } : basic(id, secret)
  }

/** What an assertion says instead of what it should. */
export interface AssertionChanges {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly alg?: string
  readonly key?: Parameters<SignJWT['sign']>[0]
}

/** The parameters of `private_key_jwt`. */
export async function assertionOf(side: Side, { claims, alg = 'RS256', key }: AssertionChanges): Promise<Changes> {
  const { id } = side.clients.signer
  const now = Math.floor(side.now() / 1000)
  const said = { iss: id, sub: id, aud: side.issuer, jti: randomUUID(), iat: now, exp: now + 60, ...claims }
  const signing = new SignJWT(said).setProtectedHeader({ alg })
  return {
    client_id: id,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await signing.sign(key ?? signerKey?.privateKey ?? raise('no key')),
  }
}

/** What a server answered. */
export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly challenge: string
}

/** Sends a form. */
export async function post(url: string, body: URLSearchParams, headers: Record<string, string> = {}): Promise<Answer> {
  return answerOf(await fetch(url, { method: 'POST', body, headers }))
}

/** Reads an answer. */
export async function answerOf(response: Response): Promise<Answer> {
  const challenge = response.headers.get('www-authenticate') ?? ''
  return { status: response.status, body: membersOf(await response.text()), challenge }
}

/** A form of this client with its proof. */
export async function postAs(side: Side, url: string, form: Changes, proof: Proof): Promise<Answer> {
  const { headers, form: proving = {} } = await proof(side)
  return post(url, parametersOf(side, { ...form, ...proving }), headers)
}

/** Pushes a request. */
export async function push(side: Side, role: Role, changes: Changes = {}, proof = proofOf(role)): Promise<Answer> {
  const { headers, form = {} } = await proof(side)
  return post(side.endpoints.par, parametersOf(side, { ...ofRole(role), ...form }, changes), headers)
}

/** The form of an exchange that is right. */
export async function exchangeForm(side: Side, role: Role, asked: Changes = {}): Promise<Changes> {
  return {
    grant_type: 'authorization_code',
    code: await codeOf(side, role, asked),
    redirect_uri: roles[role].redirectUris[0],
    code_verifier: verifier,
  }
}

/** Exchanges a code. `asked` changes the request before. */
export async function exchange(
  side: Side,
  role: Role,
  { asked, changes, proof = proofOf(role) }: { asked?: Changes; changes?: Changes; proof?: Proof } = {},
): Promise<Answer> {
  const form = await exchangeForm(side, role, asked)
  return postAs(side, side.endpoints.token, { ...form, ...changes }, proof)
}

/** `200`, or a status with its error. */
export const statusOf = ({ status, body: { error } }: Answer): string =>
  status < 300 ? `${status}` : `${status} ${typeof error === 'string' ? error : ''}`.trim()

function raise(text: string): never {
  throw new Error(text)
}
