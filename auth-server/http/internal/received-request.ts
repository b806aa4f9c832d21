/** A request that a service has received and describes, in the form that the schemes verify. */

import type { HttpRequest, NamedCaller } from '../../../shared/platform/http/request.ts'
import type { Peer } from '../../../shared/platform/http/transport.ts'
import { canonicalAddress } from '../../../shared/platform/http/transport.ts'
import { invalidValue } from '../../../shared/platform/problems/check-value.ts'
import type { ReceivedRequest } from '../../../shared/protocol/internal-api/verify-request.ts'

/** An absolute URL without a fragment, of printable ASCII, in its parts: nothing is normalized. */
const urlForm = /^(https?:\/\/[A-Za-z0-9.:[\]-]+)(\/[!"$->@-~]*)?(?:\?([!"$-~]*))?$/

/** The request, and the public origin that its URL names. */
export interface DescribedRequest {
  readonly described: HttpRequest
  readonly origin: string
}

/**
 * Reads a description. `of` is the request that carries it. @throws ProblemError `invalid-value` for a URL of another
 * form
 */
export function readDescribedRequest(received: ReceivedRequest, of: Carrier): DescribedRequest {
  const [, origin, path = '/', rawQuery = ''] = urlForm.exec(received.url) ?? []
  if (origin !== undefined) return { described: new Described(received, { path, rawQuery, of }), origin }
  const message = 'must be an absolute URL of printable ASCII without a fragment'
  throw invalidValue([{ pointer: '/request/url', code: 'url', message }])
}

type Carrier = Pick<HttpRequest, 'requestId' | 'traceId'>

interface Target {
  readonly path: string
  readonly rawQuery: string
  readonly of: Carrier
}

class Described implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly rawQuery: string
  readonly query: URLSearchParams
  readonly pathParameters = {}
  readonly requestId: string
  readonly traceId: string
  readonly peer: Peer
  readonly isBodyElsewhere = true
  caller: NamedCaller | undefined = undefined
  readonly #lines: ReceivedRequest['headers']
  readonly #hasBody: boolean
  readonly #added: (readonly [string, string])[] = []

  constructor({ method, headers, hasBody, clientAddress }: ReceivedRequest, { path, rawQuery, of }: Target) {
    this.method = method
    this.path = path
    this.rawQuery = rawQuery
    this.query = new URLSearchParams(rawQuery)
    this.requestId = of.requestId
    this.traceId = of.traceId
    const address = canonicalAddress(clientAddress) ?? clientAddress
    this.peer = { address, mayCarryCredentials: true, isHttps: true }
    this.#lines = headers
    this.#hasBody = hasBody
  }

  header(name: string): string | undefined {
    const sent = Object.hasOwn(this.#lines, name) ? this.#lines[name]?.join(', ') : undefined
    if (name !== 'content-length') return sent
    return this.#hasBody ? (sent ?? '1') : '0'
  }

  headerLines(name: string): string[] {
    return Object.hasOwn(this.#lines, name) ? (this.#lines[name] ?? []) : []
  }

  isCredentialParameter(): boolean {
    return false
  }

  readBody(): Promise<Buffer> {
    return Promise.resolve(Buffer.alloc(0))
  }

  hasClosed(): Promise<boolean> {
    return Promise.resolve(false)
  }

  refuseLargeBody(): void {}

  addResponseHeader(name: string, value: string): void {
    this.#added.push([name.toLowerCase(), value])
  }

  get addedResponseHeaders(): readonly (readonly [string, string])[] {
    return this.#added
  }
}
