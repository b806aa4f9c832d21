/** The operations below `/api-keys`. */

import type { Operation } from '../../../shared/platform/http/operation.ts'
import { jsonSchemaOf, ref } from '../../../shared/platform/openapi/json-schema.ts'
import { bodyProblems } from '../../../shared/platform/openapi/problem-answers.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'
import { apiKeyListParameters, apiKeySchema } from '../endpoints/api-key-bodies.ts'
import { proofProblems } from './user-operations.ts'

type Described = Omit<Operation, 'tag'>

/** Method and route → operation. */
const operations: Readonly<Record<string, Described>> = {
  'POST /api-keys': {
    id: 'createApiKey',
    summary: 'Make an API key',
    description:
      'Its secret or private key is shown in this answer and never again. Needs your password or a login younger than five minutes. A key for another user carries no right that you lack.',
    body: { schema: jsonSchemaOf(apiKeySchema), required: true },
    answers: { 201: { description: 'The new key.', schema: ref('NewApiKey'), headers: ['Location'] } },
    problems: [
      ...bodyProblems,
      ...proofProblems,
      ...['missing-right', 'not-found', 'too-many-api-keys', 'too-many-key-pairs'],
    ],
  },
  'GET /api-keys': {
    id: 'listApiKeys',
    summary: 'List your API keys, or with the right to, those of others',
    description: 'Holders of `api-key.manage` get everybody’s, unless they name a user.',
    query: apiKeyListParameters,
    answers: { 200: { description: 'API keys, oldest first.', schema: ref('ApiKeyPage'), headers: ['Link'] } },
    problems: ['invalid-parameter', 'invalid-cursor', 'missing-right'],
  },
  'GET /api-keys/:id': {
    id: 'getApiKey',
    summary: 'Read an API key',
    answers: { 200: { description: 'The key.', schema: ref('ApiKey') } },
    problems: ['missing-right', 'not-found'],
  },
  'DELETE /api-keys/:id': {
    id: 'revokeApiKey',
    summary: 'Revoke an API key',
    description: 'It signs nothing any more, and the tokens made with it die.',
    answers: { 204: { description: 'The key is revoked.' } },
    problems: ['invalid-body', 'missing-right', 'not-found'],
  },
}

/** @throws TypeError for a route that is not described here */
export function describeApiKeysRoute(method: string, path: string): Operation {
  const operation = operations[`${method} ${path}`]
  if (!operation) throw new TypeError(`the documentation does not know ${method} ${path}`)
  return { tag: 'api-keys', ...operation, problems: [...callerProblems, ...operation.problems] }
}
