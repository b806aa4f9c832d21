/**
 * The public keys, for everybody: JWK Sets (RFC 7517 §5) by purpose, and each key as PEM. They are those of the folder at that moment: another
 * auth server may have noticed a new key before, and sign with it.
 */

import type { Answer } from '../../../shared/platform/http/answer.ts'
import { answerCacheable } from '../../../shared/platform/http/cacheable.ts'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { KeyRing } from '../../key-ring/key-ring.ts'
import type { KeyUse } from '../../key-ring/keyring-file.ts'
import { describeJwkSet, describePem } from '../openapi/key-operations.ts'

/** Clients ask again after five minutes at the latest; a key is published longer than that before it signs. */
const cacheControl = 'public, max-age=300, must-revalidate'

export const keyDocumentRoutes = (keyRing: KeyRing): Route[] => [
  document('/.well-known/jwks.json', 'jwt', keyRing),
  document('/.well-known/key-signed-keys.json', 'key-signed', keyRing),
  {
    methods: ['GET'],
    path: '/.well-known/keys/:file{.+\\.pem}',
    describe: () => [describePem()],
    handle: async (call) => {
      await keyRing.look()
      return answerKeys(call, 'application/x-pem-file', pemOf(call, keyRing))
    },
  },
]

const document = (path: string, use: KeyUse, keyRing: KeyRing): Route => ({
  methods: ['GET'],
  path,
  describe: () => [describeJwkSet(path)],
  handle: async (call) => {
    await keyRing.look()
    return answerKeys(call, 'application/jwk-set+json', JSON.stringify(keyRing.jwkSet(use)))
  },
})

const answerKeys = (call: HttpCall, contentType: string, body: string): Answer =>
  answerCacheable(call, { contentType, cacheControl, body, headers: { 'access-control-allow-origin': '*' } })

/** @throws Refused `not-found` */
function pemOf(call: HttpCall, keyRing: KeyRing): string {
  const pem = keyRing.publicKeyPem(call.pathParameters.file?.slice(0, -'.pem'.length) ?? '')
  if (pem === undefined) throw new Refused('not-found', 'There is no such key.')
  return pem
}
