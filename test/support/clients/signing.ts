/** Clients that sign requests, written from the contract alone: nothing of the servers' own code is in here. */
import { createHash, createHmac, sign } from 'node:crypto'
import { passwordOf, type Stack } from '../worlds/stack.ts'
import { rememberSecret } from './http-client.ts'

/** A key as its client holds it. */
export interface ClientKey {
  readonly id: string
  readonly secret?: string
  readonly privateKeyPem?: string
}

/** A request before it is signed. */
export interface Unsigned {
  readonly method: string
  /** With or without parameters of its own, encoded. */
  readonly url: string
  readonly body?: string | undefined
}

export interface SigningOptions {
  /** Unix seconds. */
  readonly timestamp: number
  /** Left out: none. */
  readonly nonce?: string
  /** Binds method and body; true unless said otherwise. */
  readonly binds?: boolean
}

/** The hexadecimal signature of a text. */
export function signText(key: ClientKey, text: string): string {
  if (key.secret !== undefined) return createHmac('sha256', key.secret).update(text).digest('hex')
  return sign('sha256', Buffer.from(text), String(key.privateKeyPem)).toString('hex')
}

const byOctets = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The string to sign of a path and its decoded parameters. */
export function canonical(path: string, parameters: readonly (readonly [string, string])[]): string {
  const lower = parameters.map(([name, value]) => [name.replace(/[A-Z]/g, (c) => c.toLowerCase()), value] as const)
  const sorted = lower.sort((a, b) => byOctets(a[0], b[0]) || byOctets(a[1], b[1]))
  return `${path}?${sorted.map((parameter) => parameter.join('=')).join('&')}`
}

/** Signs a request in its query. */
export function signUrl(key: ClientKey, request: Unsigned, options: SigningOptions): string {
  const { method, body } = request
  const { timestamp, nonce, binds = true } = options
  const url = new URL(request.url)
  const add = (name: string, value: string) => url.searchParams.append(name, value)
  add('timestamp', String(timestamp))
  add('apiKey', key.id)
  if (nonce !== undefined) add('nonce', nonce)
  if (binds) add('method', method)
  if (binds && body !== undefined) add('bodySha256', createHash('sha256').update(body).digest('hex'))
  const signature = signText(key, canonical(url.pathname, [...url.searchParams]))
  rememberSecret(signature)
  add('signature', signature)
  return url.href
}

/** What a key is made with. */
export interface KeyRequest {
  readonly kind?: 'hmac' | 'rsa'
  readonly requireBodyHash?: boolean
  readonly rights?: readonly string[]
  readonly expiresAt?: string
}

/** Makes a key of a demo user. @throws Error when it is refused */
export async function makeKey(stack: Stack, username: string, request: KeyRequest = {}): Promise<ClientKey> {
  const { access } = await stack.logIn(username, passwordOf(username))
  const { status, body, text } = await stack.auth.send('/api-keys', {
    token: access,
    json: { kind: 'hmac', ...request },
  })
  if (status !== 201) throw new Error(`/api-keys answered ${status}: ${text}`)
  return clientKeyOf(body)
}

/** The key that the server has shown in this body. */
export const clientKeyOf = (body: Readonly<Record<string, unknown>>): ClientKey => ({
  id: String(body.id),
  ...secretOf(body.secret, 'secret'),
  ...secretOf(body.privateKeyPem, 'privateKeyPem'),
})

function secretOf<Name extends string>(value: unknown, name: Name): Partial<Record<Name, string>> {
  if (typeof value !== 'string') return {}
  rememberSecret(value)
  return { [name]: value } as Record<Name, string>
}
