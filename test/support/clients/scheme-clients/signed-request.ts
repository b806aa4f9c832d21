import { makeKey, signUrl } from '../signing.ts'
import type { SchemeClient } from './scheme-client.ts'

/** Signs every request in its query, with an hmac key that binds method and body. */
export const signedRequestClient: SchemeClient = {
  name: 'signed-request',
  open: async (stack, username) => {
    const key = await makeKey(stack, username)
    let count = 0
    return async (request) => {
      count += 1
      const timestamp = Math.floor(stack.clock.now() / 1000)
      return { url: signUrl(key, request, { timestamp, nonce: String(count) }), headers: {} }
    }
  },
}
