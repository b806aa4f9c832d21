/** The public keys, for everybody: JWK Sets (RFC 7517 §5) by purpose, and each key as PEM. */
import { createHash } from 'node:crypto'
import { Refused } from '../../../shared/errors.ts'
import type { Answer } from '../../../shared/http/answer.ts'
import type { HttpCall } from '../../../shared/http/call.ts'
import type { Route } from '../../../shared/http/routes.ts'
import type { JwkSet, KeyRing } from '../../key-ring/key-ring.ts'
import { describeJwkSet, describePem } from '../openapi/key-operations.ts'

/** Clients ask again after five minutes at the latest; a key is published longer than that before it signs. */
const cacheControl = 'public, max-age=300, must-revalidate'

export const keyDocumentRoutes = (keyRing: KeyRing): Route[] => [
  document('/.well-known/jwks.json', () => keyRing.jwkSet('jwt')),
  document('/.well-known/key-signed-keys.json', () => keyRing.jwkSet('key-signed')),
  {
    methods: ['GET'],
    path: '/.well-known/keys/:file{.+\\.pem}',
    describe: () => [describePem()],
    handle: (call) => answerCacheable(call, 'application/x-pem-file', pemOf(call, keyRing)),
  },
]

const document = (path: string, read: () => JwkSet): Route => ({
  methods: ['GET'],
  path,
  describe: () => [describeJwkSet(path)],
  handle: (call) => answerCacheable(call, 'application/jwk-set+json', JSON.stringify(read())),
})

function answerCacheable(call: HttpCall, contentType: string, body: string): Answer {
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`
  const headers = {
    'content-type': contentType,
    'cache-control': cacheControl,
    etag,
    'access-control-allow-origin': '*',
  }
  const known = call
    .header('if-none-match')
    ?.split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
  return known?.includes(etag) || known?.includes('*')
    ? { status: 304, headers, body: null }
    : { status: 200, headers, body }
}

/** @throws Refused `not-found` */
function pemOf(call: HttpCall, keyRing: KeyRing): string {
  const pem = keyRing.publicKeyPem(call.pathParameters.file?.slice(0, -'.pem'.length) ?? '')
  if (pem === undefined) throw new Refused('not-found', 'There is no such key.')
  return pem
}
