/**
 * The public keys, for everybody: JWK Sets (RFC 7517 §5) by purpose, and each key as PEM. They are those of the folder
 * at that moment: another auth server may have noticed a new key before, and sign with it.
 */
import { z } from 'zod'
import { answerCacheable } from '../../../shared/platform/http/cacheable.ts'
import type { HttpCall } from '../../../shared/platform/http/request.ts'
import type { Answer } from '../../../shared/platform/http/response.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { KeyRing } from '../../key-ring/key-ring.ts'
import type { KeyUse } from '../../key-ring/keyring-file.ts'
import { cacheable, component } from '../pipeline/description.ts'
import { definePublicEndpoint, type Endpoint } from '../pipeline/endpoint.ts'

/** Clients ask again after five minutes at the latest; a key is published longer than that before it signs. */
const cacheControl = 'public, max-age=300, must-revalidate'

const jwkSetType = 'application/jwk-set+json'
const pemType = 'application/x-pem-file'

const jwkSet = component(
  'JwkSet',
  z
    .object({
      keys: z.array(
        z.object({
          kty: z.literal('RSA'),
          kid: z.string(),
          use: z.literal('sig'),
          alg: z.string(),
          n: z.string(),
          e: z.string(),
        }),
      ),
    })
    .meta({ description: 'RFC 7517 §5.' }),
)

const ofKeys = { method: 'GET', tag: 'keys', caller: 'none', status: 200, ...cacheable } as const

/** The public documents of a key ring. */
export const keyDocumentEndpoints = (keyRing: KeyRing): Endpoint[] => [
  definePublicEndpoint({
    ...ofKeys,
    path: '/.well-known/jwks.json',
    id: 'getJwks',
    summary: 'Read the public keys of access tokens',
    answer: { description: 'A JWK Set.', mediaType: jwkSetType, headers: ['ETag'] },
    response: jwkSet,
    handle: (call) => answerJwkSet(call, keyRing, 'jwt'),
  }),
  definePublicEndpoint({
    ...ofKeys,
    path: '/.well-known/key-signed-keys.json',
    id: 'getKeySignedKeys',
    summary: 'Read the public keys of key-signed tokens',
    answer: { description: 'A JWK Set.', mediaType: jwkSetType, headers: ['ETag'] },
    response: jwkSet,
    handle: (call) => answerJwkSet(call, keyRing, 'key-signed'),
  }),
  definePublicEndpoint({
    ...ofKeys,
    path: '/.well-known/keys/:file{.+\\.pem}',
    documentedPath: '/.well-known/keys/{kid}.pem',
    id: 'getPublicKey',
    summary: 'Read one public key',
    answer: { description: 'PEM (SPKI).', schema: { type: 'string' }, mediaType: pemType, headers: ['ETag'] },
    problems: ['not-found'],
    handle: async (call) => {
      await keyRing.look()
      return answerKeys(call, pemType, pemOf(call, keyRing))
    },
  }),
]

async function answerJwkSet(call: HttpCall, keyRing: KeyRing, use: KeyUse): Promise<Answer> {
  await keyRing.look()
  return answerKeys(call, jwkSetType, JSON.stringify(keyRing.jwkSet(use)))
}

const answerKeys = (call: HttpCall, contentType: string, body: string): Answer =>
  answerCacheable(call, { contentType, cacheControl, body, headers: { 'access-control-allow-origin': '*' } })

/** @throws Refused `not-found` */
function pemOf(call: HttpCall, keyRing: KeyRing): string {
  const pem = keyRing.publicKeyPem(call.pathParameters.file?.slice(0, -'.pem'.length) ?? '')
  if (pem === undefined) throw new Refused('not-found', 'There is no such key.')
  return pem
}
