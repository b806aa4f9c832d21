/**
 * The public keys: a JWK Set (RFC 7517 §5) for each use, and each key as PEM. Every request reads the folder of the key
 * ring again, because another auth server may already sign with a new key.
 */
import * as z from 'zod'
import { cacheableResponse } from '../../../shared/platform/http/cacheable.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import {
  cacheable,
  component,
  definePublicEndpoint,
  type PublicEndpoint,
} from '../../../shared/server/endpoints/endpoint.ts'
import type { KeyRing } from '../../key-ring/key-ring.ts'
import type { KeyUse } from '../../key-ring/keyring-file.ts'

/** Clients fetch the keys again after at most five minutes. A key is published longer than that before it signs. */
const cacheControl = 'public, max-age=300, must-revalidate'

const jwkSetType = 'application/jwk-set+json'
const pemType = 'application/x-pem-file'

const jwkSet = component(
  'JwkSet',
  z
    .object({
      keys: z.array(
        z.object({
          kty: z.enum(['RSA', 'EC', 'OKP']),
          kid: z.string(),
          use: z.literal('sig'),
          alg: z.string(),
          n: z.string().optional(),
          e: z.string().optional(),
          crv: z.string().optional(),
          x: z.string().optional(),
          y: z.string().optional(),
        }),
      ),
    })
    .meta({
      description: 'RFC 7517 §5. RSA keys have n and e (RFC 7518 §6.3.1); EC and Ed25519 keys crv, x, and EC keys y.',
    }),
)

const ofKeys = { tag: 'keys', status: 200, ...cacheable } as const

/** The public documents of a key ring. */
export const keyDocumentEndpoints = (keyRing: KeyRing): PublicEndpoint[] => [
  definePublicEndpoint({
    ...ofKeys,
    path: '/.well-known/jwks.json',
    id: 'getJwks',
    summary: 'Read the public keys of access tokens',
    description: 'A verifier keeps them, and asks again when a token names a key that it does not know (RFC 7517).',
    success: { description: 'A JWK Set.', mediaType: jwkSetType, headers: ['ETag'] },
    response: jwkSet,
    handle: (request) => jwkSetResponse(request, keyRing, 'jwt'),
  }),
  definePublicEndpoint({
    ...ofKeys,
    path: '/.well-known/key-signed-keys.json',
    id: 'getKeySignedKeys',
    summary: 'Read the public keys of key-signed tokens',
    description:
      'The keys of key-signed tokens are apart from those of access tokens, so neither can stand for the other.',
    success: { description: 'A JWK Set.', mediaType: jwkSetType, headers: ['ETag'] },
    response: jwkSet,
    handle: (request) => jwkSetResponse(request, keyRing, 'key-signed'),
  }),
  definePublicEndpoint({
    ...ofKeys,
    path: '/.well-known/keys/:file{.+\\.pem}',
    documentedPath: '/.well-known/keys/{kid}.pem',
    id: 'getPublicKey',
    summary: 'Read one public key',
    description: 'By its `kid`. A removed key is not found.',
    success: { description: 'PEM (SPKI).', schema: { type: 'string' }, mediaType: pemType, headers: ['ETag'] },
    problems: ['not-found'],
    handle: async (request) => {
      await keyRing.reload()
      return keyResponse(request, pemType, pemOf(request, keyRing))
    },
  }),
]

async function jwkSetResponse(request: HttpRequest, keyRing: KeyRing, use: KeyUse): Promise<HttpResponse> {
  await keyRing.reload()
  return keyResponse(request, jwkSetType, JSON.stringify(keyRing.jwkSet(use)))
}

const keyResponse = (request: HttpRequest, contentType: string, body: string): HttpResponse =>
  cacheableResponse(request, { contentType, cacheControl, body, headers: { 'access-control-allow-origin': '*' } })

/** @throws ProblemError `not-found` */
function pemOf(request: HttpRequest, keyRing: KeyRing): string {
  const pem = keyRing.publicKeyPem(request.pathParameters.file?.slice(0, -'.pem'.length) ?? '')
  if (pem === undefined) throw new ProblemError('not-found', 'There is no such key.')
  return pem
}
