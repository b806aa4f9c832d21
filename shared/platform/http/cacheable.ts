import { createHash } from 'node:crypto'
import type { Answer } from './answer.ts'
import type { HttpCall } from './call.ts'

/** A document that many read and that seldom changes. */
export interface CacheableDocument {
  readonly contentType: string
  readonly cacheControl: string
  readonly body: string
  /** Of the body, as `entityTag` makes it; worked out here unless it is known already. */
  readonly etag?: string
  readonly headers?: Answer['headers']
}

/** A strong entity tag (RFC 9110 §8.8.3). */
export const entityTag = (body: string): string => `"${createHash('sha256').update(body).digest('base64url')}"`

/** The document with its entity tag, or 304 without it for a client that has it (RFC 9110 §13.1.2). */
export function answerCacheable(call: HttpCall, document: CacheableDocument): Answer {
  const { body, etag = entityTag(body) } = document
  const headers = {
    'content-type': document.contentType,
    'cache-control': document.cacheControl,
    etag,
    ...document.headers,
  }
  const known = call
    .header('if-none-match')
    ?.split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
  return known?.includes(etag) || known?.includes('*')
    ? { status: 304, headers, body: null }
    : { status: 200, headers, body }
}
