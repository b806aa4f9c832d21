/** Requests of OAuth clients, and the API keys that they are. */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { expect } from 'vitest'
import type { Stack } from '../worlds/stack.ts'
import { type Reply, rememberSecret } from './http-client.ts'

/** An API key as its owner got it. */
export interface MadeKey {
  readonly id: string
  /** Of kind `hmac`. */
  readonly secret: string
  /** Of kind `rsa`. */
  readonly privateKeyPem: string
}

/** Makes an API key for the user of this token. */
export async function makeApiKey(stack: Stack, token: string, json: object): Promise<MadeKey> {
  const { status, body, text } = await stack.auth.send('/api-keys', { token, json })
  if (status !== 201) throw new Error(`/api-keys answered ${status}: ${text}`)
  const { id, secret = '', privateKeyPem = '' } = body
  if (secret !== '') rememberSecret(String(secret))
  return { id: String(id), secret: String(secret), privateKeyPem: String(privateKeyPem) }
}

/** `Authorization: Basic` of a client (RFC 6749 §2.3.1). */
export const basicOf = (id: string, secret: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
})

/** Posts a form; a parameter may be given several times. */
export const postForm = (
  stack: Stack,
  path: string,
  form: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> => {
  const pairs = Array.isArray(form) ? form.map(([name, value]) => [name, value]) : Object.entries(form)
  return stack.auth.send(path, {
    body: new URLSearchParams(pairs as [string, string][]).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
}

/** Posts a form as the client that this key of kind `hmac` is. */
export const postAsKey = (stack: Stack, key: MadeKey, path: string, form: Readonly<Record<string, string>>) =>
  postForm(stack, path, form, basicOf(key.id, key.secret))

/** What asks for a token of the client itself (RFC 6749 §4.4). */
export const clientCredentials = { grant_type: 'client_credentials' }

/** An access token of this key of kind `hmac`. */
export async function keyTokenOf(stack: Stack, key: MadeKey, form: Readonly<Record<string, string>> = {}) {
  const { status, body, text } = await postAsKey(stack, key, '/oauth/token', { ...clientCredentials, ...form })
  expect(status, text).toBe(200)
  return String(body.access_token)
}

/** Expects an error of RFC 6749 §5.2, and nothing of a problem document. */
export function expectOAuthError(reply: Reply, status: number, error: string): void {
  expect({ status: reply.status, error: reply.body.error }, reply.text).toEqual({ status, error })
  expect(Object.keys(reply.body).sort()).toEqual(['error', 'error_description'])
  expect(reply.body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  expect(reply.headers.get('content-type')).toBe('application/json')
  expect(reply.headers.get('cache-control')).toBe('no-store')
  expect(reply.headers.get('pragma')).toBe('no-cache')
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
let serial = 0

/** What an assertion says instead of what it should. */
export interface AssertionChanges {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  readonly key?: KeyObject | Uint8Array
}

/** The parameters of `private_key_jwt` (RFC 7523 §2.2). */
export async function assertionOf(
  stack: Stack,
  key: Pick<MadeKey, 'id' | 'privateKeyPem'>,
  { claims, header, key: signer }: AssertionChanges = {},
): Promise<{ client_assertion: string; client_assertion_type: string }> {
  const now = Math.floor(stack.clock.now() / 1000)
  serial += 1
  const said = {
    iss: key.id,
    sub: key.id,
    aud: stack.auth.url,
    jti: `jti-${serial}`,
    iat: now,
    exp: now + 60,
    ...claims,
  }
  const assertion = await new SignJWT(said)
    .setProtectedHeader({ alg: 'RS256', ...header })
    .sign(signer ?? createPrivateKey(key.privateKeyPem))
  return { client_assertion: assertion, client_assertion_type: assertionType }
}
