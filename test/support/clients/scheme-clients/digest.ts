/** A client of HTTP Digest (RFC 7616), to be copied: node:crypto is all it needs. */
import { createHash, randomBytes } from 'node:crypto'
import { get } from 'node:http'
import { digestSecretOf } from '../../worlds/stack.ts'
import type { PlainRequest, SchemeClient } from './scheme-client.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** What a server asks for. */
export interface DigestChallenge {
  readonly realm: string
  readonly nonce: string
  readonly opaque: string
  readonly stale: boolean
}

/** The Digest challenge among the values of `WWW-Authenticate`; undefined when there is none. */
export function challengeIn(header: string | null): DigestChallenge | undefined {
  const text = /\bDigest (?:[a-z]+=(?:"[^"]*"|[^\s,"]+)(?:, )?)+/.exec(header ?? '')?.[0] ?? ''
  const parameter = (name: string) => new RegExp(`\\b${name}=(?:"([^"]*)"|([^\\s,"]+))`).exec(text)
  const nonce = parameter('nonce')?.[1]
  if (nonce === undefined) return undefined
  const [realm = '', opaque = ''] = ['realm', 'opaque'].map((name) => parameter(name)?.[1])
  return { realm, nonce, opaque, stale: parameter('stale')?.[2] === 'true' }
}

/** What is put into a credential. */
export interface DigestInput {
  readonly username: string
  readonly secret: string
  readonly nonce: string
  readonly method: string
  /** Path and query as on the request line. */
  readonly uri: string
  /** How often the nonce was used, this time included. */
  readonly count: number
  readonly realm?: string
  readonly opaque?: string
  readonly cnonce?: string
  readonly userhash?: boolean
}

/** The value of `Authorization`. */
export function digestCredential(input: DigestInput): string {
  const { username, secret, nonce, method, uri, realm = 'keyhold', opaque = 'keyhold', userhash = false } = input
  const cnonce = input.cnonce ?? randomBytes(12).toString('base64url')
  const nc = input.count.toString(16).padStart(8, '0')
  const ha1 = sha256(`${username}:${realm}:${secret}`)
  const response = sha256(`${ha1}:${nonce}:${nc}:${cnonce}:auth:${sha256(`${method}:${uri}`)}`)
  const name = userhash ? sha256(`${username}:${realm}`) : username
  return (
    `Digest username="${name}", realm="${realm}", nonce="${nonce}", uri="${uri}", algorithm=SHA-256, ` +
    `qop=auth, nc=${nc}, cnonce="${cnonce}", response="${response}", opaque="${opaque}"` +
    `${userhash ? ', userhash=true' : ''}`
  )
}

/** `Authorization: Digest`: one nonce for each server, counted up. */
export const digestClient: SchemeClient = {
  name: 'digest',
  open: async (_stack, username) => {
    const nonces = new Map<string, { nonce: string; count: number }>()
    const nonceFor = async (url: string) => {
      const { origin } = new URL(url)
      const known = nonces.get(origin) ?? { nonce: await askForNonce(url), count: 0 }
      nonces.set(origin, known)
      return known
    }
    return async ({ method, url }: PlainRequest) => {
      const used = await nonceFor(url)
      used.count += 1
      const { pathname, search } = new URL(url)
      const secret = digestSecretOf(username)
      const { nonce, count } = used
      const authorization = digestCredential({ username, secret, nonce, method, uri: pathname + search, count })
      return { url, headers: { authorization } }
    }
  },
}

/** A path of either server that needs a caller. */
const askable = ['/me', '/rest/v1/deals']

/**
 * A nonce from the challenge of the server at this URL. `fetch` says that it is a script in a browser, and would get
 * none.
 */
export async function askForNonce(url: string): Promise<string> {
  for (const path of askable) {
    const lines = await new Promise<string>((resolve, reject) => {
      get(new URL(path, url), (response) => {
        response.resume()
        resolve(String(response.headers['www-authenticate'] ?? ''))
      }).on('error', reject)
    })
    const challenge = challengeIn(lines)
    if (challenge) return challenge.nonce
  }
  throw new Error('the server sent no Digest challenge')
}
