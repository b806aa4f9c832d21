import { createHash } from 'node:crypto'
import { createSigner, httpbis } from 'http-message-signatures'
import { makeKey } from '../signing.ts'
import type { SchemeClient } from './scheme-client.ts'

/** Signs every request in its header fields (RFC 9421), by a library of others, with a key of this kind. */
const messageClient = (kind: 'rsa' | 'hmac'): SchemeClient => ({
  name: 'signed-request',
  open: async (stack, username) => {
    const { id, privateKeyPem, secret = '' } = await makeKey(stack, username, { kind })
    const algorithm = kind === 'rsa' ? 'rsa-v1_5-sha256' : 'hmac-sha256'
    const key = createSigner(privateKeyPem ?? secret, algorithm, id)
    let count = 0
    return async ({ method, url, body }) => {
      count += 1
      const digest = body && { 'content-digest': `sha-256=:${createHash('sha256').update(body).digest('base64')}:` }
      const fields = ['@method', '@path', '@query', ...(digest ? ['content-digest'] : [])]
      const paramValues = { created: new Date(stack.clock.now()), nonce: String(count) }
      const params = ['created', 'keyid', 'alg', 'nonce']
      const { headers } = await httpbis.signMessage(
        { key, fields, params, paramValues },
        { method, url, headers: { ...digest } },
      )
      return { url, headers: headers as Record<string, string> }
    }
  },
})

/** With an rsa key. */
export const messageSignatureClient: SchemeClient = messageClient('rsa')

/** With an hmac key. */
export const hmacMessageClient: SchemeClient = messageClient('hmac')
