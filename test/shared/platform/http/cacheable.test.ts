import { describe, expect, it } from 'vitest'
import { cacheableResponse, tagsIn } from '../../../../shared/platform/http/cacheable.ts'
import type { HttpRequest } from '../../../../shared/platform/http/request.ts'

const document = { contentType: 'text/plain', cacheControl: 'no-cache', body: 'text' }
const statusWith = (known: string, etag: string): number =>
  cacheableResponse({ header: () => known } as unknown as HttpRequest, { ...document, etag }).status

const codings = ['gzip', 'x-gzip', 'GZIP', 'gz', 'br', 'brotli', 'zstd', 'deflate', 'compress']
const suffixes = [
  '',
  '-gzip-br',
  ...['-', '--', ';', ':', '+', '_', '.'].flatMap((mark) => codings.map((c) => mark + c)),
]

describe('an entity tag', () => {
  it.each(suffixes)('counts with the suffix %j', (suffix) => {
    for (const tag of [`"1${suffix}"`, `W/"1${suffix}"`, `"7", W/"1${suffix}"`, `,"1${suffix}" , "7"`]) {
      expect(tagsIn(tag), tag).toContain('"1"')
      expect(statusWith(tag, '"1"'), tag).toBe(304)
    }
  })

  it.each([
    '"2-gzip"',
    '"11-gzip"',
    '"1gzip"',
    '"1-gzipped"',
    '"1-"',
    '"1-identity"',
    '"-gzip"',
    '1-gzip',
    '"1-gzip',
    '',
  ])('is another one as %j', (tag) => {
    expect(statusWith(tag, '"1"')).toBe(200)
  })

  it('may end like a suffix itself', () => {
    for (const tag of ['"abc-br"', 'W/"abc-br"', '"abc-br-gzip"']) expect(statusWith(tag, '"abc-br"')).toBe(304)
  })

  it('is any with *', () => {
    expect([statusWith('*', '"1"'), statusWith(' * ', '"1"'), statusWith('"*"', '"1"')]).toEqual([304, 304, 200])
  })
})
