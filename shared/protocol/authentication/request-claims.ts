/**
 * Claims of a request about itself in its query: `method`, and `bodySha256`, the SHA-256 of its body in hexadecimal.
 */
import { createHash } from 'node:crypto'
import type { HttpRequest } from '../../platform/http/request.ts'
import { lowerCase } from './signature-parameters.ts'

/**
 * The first claim that is not true; undefined when all are true, or when there are none. A claim is checked wherever it
 * is present, also on routes that do not need it; one about a body by the server that has the body.
 */
export const falseClaim = (request: HttpRequest): Promise<FalseClaim | undefined> | undefined =>
  mayHoldClaim.test(request.rawQuery) ? findFalseClaim(request) : undefined

type FalseClaim = 'method' | 'bodySha256'

async function findFalseClaim(request: HttpRequest): Promise<FalseClaim | undefined> {
  let digest: string | undefined
  for (const [spelled, value] of request.query) {
    const name = lowerCase(spelled)
    if (name === 'method' && value !== request.method) return 'method'
    if (name !== 'bodysha256' || request.isBodyElsewhere) continue
    digest ??= sha256Hex(await request.readBody())
    if (lowerCase(value) !== digest) return 'bodySha256'
  }
  return undefined
}

/** Matches every spelling of these names. All other requests need this test only. */
const mayHoldClaim = /method|bodysha256|%/i

const sha256Hex = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
