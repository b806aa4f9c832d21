import { createHash } from 'node:crypto'
import { type Dictionary, parseDictionary } from 'structured-headers'
import type { HttpRequest } from '../../../platform/http/request.ts'

const hashOfAlgorithm = { 'sha-256': 'sha256', 'sha-512': 'sha512' } as const

/** True when `Content-Digest` (RFC 9530 §2) has a digest by SHA-256 or SHA-512, and each such digest is the body's. */
export async function verifyContentDigest(request: HttpRequest): Promise<boolean> {
  const body = await request.readBody()
  const digests = parse(request.headerLines('content-digest').join(', '))
  const results = Object.entries(hashOfAlgorithm).flatMap(([algorithm, hash]) => {
    const item = digests?.get(algorithm)
    if (!item) return []
    const [value] = item
    return value instanceof ArrayBuffer && createHash(hash).update(body).digest().equals(Buffer.from(value))
  })
  return results.length > 0 && results.every(Boolean)
}

function parse(field: string): Dictionary | undefined {
  try {
    return parseDictionary(field)
  } catch {
    return undefined
  }
}
