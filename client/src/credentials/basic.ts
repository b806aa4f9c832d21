import type { Credential } from './credential.ts'
import { base64, utf8 } from './encode.ts'

/**
 * A user's name and password with every request (RFC 7617).
 *
 * @example
 * ```ts
 * const credential = basic({ username: 'alice', password })
 * ```
 */
export const basic = ({
  username,
  password,
}: {
  readonly username: string
  readonly password: string
}): Credential => ({
  authorize: ({ headers }) => headers.set('authorization', `Basic ${base64(utf8(`${username}:${password}`))}`),
})
