/**
 * Claims of a request about itself in its query: `method`, `bodySha256`, the SHA-256 of its body in hexadecimal, and
 * `audience`, the service that it is for.
 */
import { createHash } from 'node:crypto'
import type { HttpRequest } from '../../platform/http/request.ts'
import { lowerCase } from './signature-parameters.ts'

/**
 * The names of the service that a request is for: its audience, and its public origin. Of another service that the
 * request names itself, they are those.
 */
export const audiencesOf = (
  { foreignAudience, foreignOrigin }: HttpRequest,
  own: { readonly audience: string; readonly publicOrigin: string },
): readonly string[] => [foreignAudience ?? own.audience, foreignOrigin ?? own.publicOrigin]

/**
 * The first claim that is not true; undefined when all are true, or when there are none. A claim is checked wherever it
 * is present, also on routes that do not need it; one about a body by the server that has the body. `audiences` are the
 * names that `audience` may have; undefined where a parameter of this name may mean something else.
 */
export const falseClaim = (
  request: HttpRequest,
  audiences: readonly string[] | undefined,
): Promise<FalseClaim | undefined> | undefined =>
  mayHoldClaim.test(request.rawQuery) ? findFalseClaim(request, audiences) : undefined

type FalseClaim = 'method' | 'bodySha256' | 'audience'

async function findFalseClaim(
  request: HttpRequest,
  audiences: readonly string[] | undefined,
): Promise<FalseClaim | undefined> {
  let digest: string | undefined
  for (const [spelled, value] of request.query) {
    const name = lowerCase(spelled)
    if (name === 'method' && value !== request.method) return 'method'
    if (name === 'audience' && audiences?.includes(value) === false) return 'audience'
    if (name !== 'bodysha256' || request.isBodyElsewhere) continue
    digest ??= sha256Hex(await request.readBody())
    if (lowerCase(value) !== digest) return 'bodySha256'
  }
  return undefined
}

/** Matches every spelling of these names. All other requests need this test only. */
const mayHoldClaim = /method|bodysha256|audience|%/i

const sha256Hex = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
