/** Requests that are signed with an API key: docs/signed-requests.md. No secret is sent. */
import type { Bytes, Credential, CredentialPorts, OutgoingRequest } from './credential.ts'
import { base64, hex, sha256, utf8 } from './encode.ts'

/**
 * Where the signature is: in the query of the URL, or in header fields (RFC 9421), which also bind the command id
 * and the precondition. Left out: in the query, unless the query has a value that cannot be signed there.
 */
export type SignatureForm = 'query' | 'headers'

/** A key as WebCrypto holds it. */
export type WebCryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** What both kinds of keys have. */
export interface SignedRequestOptions {
  /** The id of the key. */
  readonly id: string
  readonly form?: SignatureForm
  /**
   * The audience or the origin of the service that the requests are for, which is then signed too. No other service
   * accepts them. Services other than the auth server and the deal server demand it.
   */
  readonly audience?: string
}

/** A key of kind `hmac`. */
export interface HmacKeyOptions extends SignedRequestOptions {
  readonly secret: string
}

/** A key of kind `rsa`: its private key as PKCS#8 in PEM, or as a key of WebCrypto that signs RSASSA-PKCS1-v1_5. */
export interface RsaKeyOptions extends SignedRequestOptions {
  readonly privateKey: string | WebCryptoKey
}

/**
 * Signs with the secret of an API key of kind `hmac`.
 *
 * @example
 * ```ts
 * const { data } = await keyhold.auth.POST('/api-keys', { body: { kind: 'hmac' } })
 * const credential = hmacKey({ id: data.id, secret: data.secret ?? '' })
 * ```
 */
export const hmacKey = ({ secret, ...options }: HmacKeyOptions): Credential =>
  new SignedRequest({ ...options, alg: 'hmac-sha256' }, 'HMAC', () => importKey('raw', utf8(secret), 'HMAC'))

/**
 * Signs with the private key of an API key of kind `rsa`.
 *
 * @example
 * ```ts
 * const { data } = await keyhold.auth.POST('/api-keys', { body: { kind: 'rsa' } })
 * const credential = rsaKey({ id: data.id, privateKey: data.privateKeyPem ?? '', form: 'headers' })
 * ```
 */
export const rsaKey = ({ privateKey, ...options }: RsaKeyOptions): Credential =>
  new SignedRequest({ ...options, alg: 'rsa-v1_5-sha256' }, rsa, async () =>
    typeof privateKey === 'string' ? importKey('pkcs8', bytesOfPem(privateKey), rsa) : privateKey,
  )

const rsa = 'RSASSA-PKCS1-v1_5'

const importKey = (format: 'raw' | 'pkcs8', bytes: Bytes, name: string): Promise<WebCryptoKey> =>
  crypto.subtle.importKey(format, bytes, { name, hash: 'SHA-256' }, false, ['sign'])

function bytesOfPem(pem: string): Bytes {
  const text = /-----BEGIN PRIVATE KEY-----([^-]+)-----END/.exec(pem)?.[1]
  if (text === undefined) throw new TypeError('Expected a private key as PKCS#8 in PEM: BEGIN PRIVATE KEY.')
  return Uint8Array.from(atob(text.replace(/\s/g, '')), (character) => character.charCodeAt(0))
}

interface SigningKey extends SignedRequestOptions {
  readonly alg: string
}

class SignedRequest implements Credential {
  readonly #key: SigningKey
  readonly #algorithm: string
  readonly #load: () => Promise<WebCryptoKey>
  #cryptoKey: Promise<WebCryptoKey> | undefined

  constructor(key: SigningKey, algorithm: string, load: () => Promise<WebCryptoKey>) {
    this.#key = key
    this.#algorithm = algorithm
    this.#load = load
  }

  async authorize(request: OutgoingRequest, ports: CredentialPorts): Promise<void> {
    const seconds = Math.floor(ports.now() / 1000)
    const { form = isAmbiguous(request.url) ? 'headers' : 'query', audience } = this.#key
    if (audience !== undefined) request.url.searchParams.append('audience', audience)
    await (form === 'query' ? this.#signQuery(request, seconds) : this.#signFields(request, seconds))
  }

  async #signQuery({ method, url, body }: OutgoingRequest, seconds: number): Promise<void> {
    const { searchParams } = url
    const claims = { timestamp: String(seconds), apiKey: this.#key.id, nonce: crypto.randomUUID(), method }
    for (const [name, value] of Object.entries(claims)) searchParams.append(name, value)
    if (body) searchParams.append('bodySha256', hex(await sha256(body)))
    const sorted = [...searchParams]
      .map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => letter.toLowerCase()), value])
      .map((pair) => ({ text: pair.join('='), order: pair.map((part) => hex(utf8(part))).join(' ') }))
      .sort((one, other) => (one.order < other.order ? -1 : 1))
    const text = `${url.pathname}?${sorted.map((parameter) => parameter.text).join('&')}`
    searchParams.append('signature', hex(await this.#sign(text)))
  }

  async #signFields({ method, url, body, headers }: OutgoingRequest, seconds: number): Promise<void> {
    if (body) headers.set('content-digest', `sha-256=:${base64(await sha256(body))}:`)
    const components: (readonly [string, string | null])[] = [
      ['@method', method],
      ['@path', url.pathname],
      ['@query', url.search || null],
      ...['content-digest', 'idempotency-key', 'if-match'].map((name) => [name, headers.get(name)] as const),
    ]
    const covered = components.filter(([, value]) => value !== null)
    const { id, alg } = this.#key
    const names = covered.map(([name]) => `"${name}"`).join(' ')
    const input = `(${names});created=${seconds};keyid="${id}";alg="${alg}";nonce="${crypto.randomUUID()}"`
    const lines = [...covered, ['@signature-params', input]].map(([name, value]) => `"${name}": ${value}`)
    const signature = await this.#sign(lines.join('\n'))
    headers.set('signature-input', `sig1=${input}`)
    headers.set('signature', `sig1=:${base64(signature)}:`)
  }

  async #sign(text: string): Promise<Bytes> {
    this.#cryptoKey ??= this.#load()
    return new Uint8Array(await crypto.subtle.sign(this.#algorithm, await this.#cryptoKey, utf8(text)))
  }
}

/** True for a query that cannot be signed as a text, because its parts could be told apart in two ways. */
const isAmbiguous = ({ searchParams }: URL): boolean =>
  [...searchParams].some(([name, value]) => /[=&]/.test(name) || value.includes('&'))
