import { passwordOf, type TestServer } from '../../worlds/stack.ts'
import { rememberSecret } from '../http-client.ts'
import type { SchemeClient } from './scheme-client.ts'

/** What a token is asked for with. */
export interface TokenRequest {
  readonly username: string
  readonly password?: string
  readonly include?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

/** A key-signed token; by default with the password that demo users have. @throws Error when it is refused */
export async function keySignedToken(auth: TestServer, request: TokenRequest): Promise<string> {
  const { username, password = passwordOf(username), include, headers = {} } = request
  const json = { username, password, ...(include && { include }) }
  const { status, body, text } = await auth.send('/key-signed-tokens', { json, headers })
  if (status !== 201) throw new Error(`/key-signed-tokens answered ${status}: ${text}`)
  return String(body.token)
}

/** The header fields that carry a token, and its password if it holds the hash of one. */
export function keySignedHeaders(token: string, password?: string): Record<string, string> {
  rememberSecret(token)
  const authorization = `KeySigned ${token}`
  if (password === undefined) return { authorization }
  const encoded = Buffer.from(password).toString('base64url')
  rememberSecret(encoded)
  return { authorization, 'x-key-signed-password': encoded }
}

/** A token that holds everything that it can hold. */
export const keySignedClient: SchemeClient = {
  name: 'key-signed',
  open: async ({ auth }, username) => {
    const token = await keySignedToken(auth, { username, include: ['username', 'ip', 'password'] })
    const headers = keySignedHeaders(token, passwordOf(username))
    return async ({ url }) => ({ url, headers })
  },
}
