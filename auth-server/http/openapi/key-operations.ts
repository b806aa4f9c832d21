/** The operations that read public keys. */

import type { DescribedAnswer, Operation } from '../../../shared/platform/http/operation.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'

const describeDocument = (
  operation: Pick<Operation, 'id' | 'summary' | 'path'>,
  answer: DescribedAnswer,
  problems: readonly string[] = [],
): Operation => ({
  ...operation,
  tag: 'keys',
  headers: ['IfNoneMatch'],
  answers: {
    200: { ...answer, headers: ['ETag'] },
    304: { description: 'It is still what `If-None-Match` names.', headers: ['ETag'] },
  },
  problems,
  security: [],
})

const jwkSet = { description: 'A JWK Set.', schema: ref('JwkSet'), mediaType: 'application/jwk-set+json' }

/** Path → the JWK Set that is read there. */
const jwkSets: Readonly<Record<string, Pick<Operation, 'id' | 'summary'>>> = {
  '/.well-known/jwks.json': { id: 'getJwks', summary: 'Read the public keys of access tokens' },
  '/.well-known/key-signed-keys.json': {
    id: 'getKeySignedKeys',
    summary: 'Read the public keys of key-signed tokens',
  },
}

/** A JWK Set. @throws TypeError for a path that is not described here */
export function describeJwkSet(path: string): Operation {
  const operation = jwkSets[path]
  if (!operation) throw new TypeError(`the documentation does not know ${path}`)
  return describeDocument(operation, jwkSet)
}

/** One key. */
export const describePem = (): Operation =>
  describeDocument(
    { id: 'getPublicKey', summary: 'Read one public key', path: '/.well-known/keys/{kid}.pem' },
    { description: 'PEM (SPKI).', schema: { type: 'string' }, mediaType: 'application/x-pem-file' },
    ['not-found'],
  )

/** The whole ring. */
export const describeKeyStatus = (): Operation => ({
  id: 'getKeyStatus',
  summary: 'Read the state of the key ring',
  path: '/keys',
  tag: 'keys',
  answers: { 200: { description: 'Every key, removed ones too.', schema: ref('KeyStatus') } },
  problems: [...callerProblems, 'missing-right', 'invalid-parameter'],
})
