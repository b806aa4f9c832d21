import { passwordOf } from '../../worlds/stack.ts'
import { rememberSecret } from '../http-client.ts'
import type { SchemeClient } from './scheme-client.ts'

/** `Authorization: Basic`, with the password that demo users have (RFC 7617). */
export const basicClient: SchemeClient = {
  name: 'basic',
  open: async (_stack, username) => {
    const credential = Buffer.from(`${username}:${passwordOf(username)}`).toString('base64')
    rememberSecret(credential)
    return async ({ url }) => ({ url, headers: { authorization: `Basic ${credential}` } })
  },
}
