import { createHash } from 'node:crypto'
import type { HttpRequest } from './request.ts'
import type { HttpResponse } from './response.ts'

/** A document that is read often and changes rarely. */
export interface CacheableDocument {
  readonly contentType: string
  readonly cacheControl: string
  readonly body: string
  /** The entity tag of the body; computed when left out. */
  readonly etag?: string
  readonly headers?: HttpResponse['headers']
}

/** A strong entity tag (RFC 9110 §8.8.3). */
export const entityTag = (body: string): string => `"${createHash('sha256').update(body).digest('base64url')}"`

/** Answers the document with its entity tag, or 304 if the client has it already (RFC 9110 §13.1.2). */
export function cacheableResponse(request: HttpRequest, document: CacheableDocument): HttpResponse {
  const { body, etag = entityTag(body) } = document
  const headers = {
    'content-type': document.contentType,
    'cache-control': document.cacheControl,
    etag,
    ...document.headers,
  }
  const known = request
    .header('if-none-match')
    ?.split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
  return known?.includes(etag) || known?.includes('*')
    ? { status: 304, headers, body: null }
    : { status: 200, headers, body }
}
