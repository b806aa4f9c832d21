import { createHash } from 'node:crypto'
import type { HttpRequest } from './request.ts'
import type { HttpResponse } from './response.ts'

interface CacheableDocument {
  readonly contentType: string
  readonly cacheControl: string
  readonly body: string
  /** The entity tag of the body; computed when left out. */
  readonly etag?: string
  readonly headers?: HttpResponse['headers']
}

/** A strong entity tag (RFC 9110 §8.8.3). */
export const entityTag = (body: string): string => `"${createHash('sha256').update(body).digest('base64url')}"`

/**
 * What proxies append to a tag when they compress: `-gzip` (Apache, Caddy), `--gzip` (Jetty), `;gzip` (Django), `;gz`
 * (LiteSpeed), and the same with other codings.
 */
const codingSuffix = /[-;:+._]{1,2}(?:x-)?(?:gzip|gz|brotli|br|zstd|zst|deflate|compress|dcb|dcz)"$/i

/**
 * The entity tags in the value of `If-Match` or `If-None-Match`, weak ones as strong ones, each as it is and without
 * what one proxy or two may have appended.
 */
export const tagsIn = (value: string): string[] =>
  (value.match(/"[^"]*"/g) ?? []).flatMap((tag) => {
    const shorter = tag.replace(codingSuffix, '"')
    return [tag, shorter, shorter.replace(codingSuffix, '"')]
  })

/** Answers the document with its entity tag, or 304 if the client has it already (RFC 9110 §13.1.2). */
export function cacheableResponse(request: HttpRequest, document: CacheableDocument): HttpResponse {
  const { body, etag = entityTag(body) } = document
  const headers = {
    'content-type': document.contentType,
    'cache-control': document.cacheControl,
    etag,
    ...document.headers,
  }
  const known = request.header('if-none-match') ?? ''
  return known.trim() === '*' || tagsIn(known).includes(etag)
    ? { status: 304, headers, body: null }
    : { status: 200, headers, body }
}
