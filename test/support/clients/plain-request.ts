import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { createHttpRequest, type HttpRequest } from '../../../shared/platform/http/request.ts'
import { isSignatureParameter } from '../../../shared/protocol/authentication/signature-parameters.ts'

/** A request as Node.js would have parsed it. */
export interface PlainRequest {
  readonly method: string
  /** As on the request line. */
  readonly target: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | null
}

/** A call without a connection: for what reads requests and nothing else. */
export function plainRequest({ method, target, headers = {}, body }: PlainRequest): HttpRequest {
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body ?? '')) }
  const message = Object.assign(Readable.from(body ? [Buffer.from(body)] : []), {
    method,
    url: target,
    headers: all,
    rawHeaders: Object.entries(all).flat(),
  })
  return createHttpRequest({
    incoming: message as unknown as IncomingMessage,
    pathParameters: {},
    requestId: 'r',
    isCredentialParameter: isSignatureParameter,
    peer: { address: '127.0.0.1', mayCarryCredentials: true, isHttps: true },
  })
}
