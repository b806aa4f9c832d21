/** The operations below `/users`. */
import type { z } from 'zod'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import type { DescribedBody, Operation } from '../../../shared/platform/http/operation.ts'
import { jsonSchemaOf, ref } from '../../../shared/platform/openapi/json-schema.ts'
import { bodyProblems } from '../../../shared/platform/openapi/problem-answers.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'
import {
  creationSchema,
  digestSecretSchema,
  logoutParameters,
  passwordSchema,
  patchSchema,
} from '../endpoints/user-bodies.ts'

const user = { description: 'The user.', schema: ref('User') }
const done = (description: string) => ({ 204: { description } })
const bodyOf = (schema: z.ZodType, required = true): DescribedBody => ({ schema: jsonSchemaOf(schema), required })

/** What making a credential that lasts can be refused for. */
export const proofProblems: readonly string[] = ['wrong-password', 'recent-login-required']

type Described = Omit<Operation, 'tag'>

/** Method and route → operation. */
const operations: Readonly<Record<string, Described>> = {
  'GET /users': {
    id: 'listUsers',
    summary: 'List users',
    query: pageParameters,
    answers: { 200: { description: 'Users.', schema: ref('UserPage'), headers: ['Link'] } },
    problems: ['invalid-parameter', 'invalid-cursor'],
  },
  'POST /users': {
    id: 'createUser',
    summary: 'Create a user',
    description: 'With roles and rights that you have yourself, and no others.',
    body: bodyOf(creationSchema),
    answers: { 201: { ...user, description: 'The new user.', headers: ['Location'] } },
    problems: [...bodyProblems, 'user-exists', 'reserved-user'],
  },
  'GET /users/:username': {
    id: 'getUser',
    summary: 'Read a user',
    answers: { 200: user },
    problems: ['not-found'],
  },
  'PATCH /users/:username': {
    id: 'patchUser',
    summary: 'Replace roles or direct rights of a user, enable or disable one',
    description:
      'You can add the rights that you have yourself, and enable a user who has no others. You can take every right away.',
    body: bodyOf(patchSchema, false),
    answers: { 200: user },
    problems: [...bodyProblems, 'not-found', 'last-admin'],
  },
  'DELETE /users/:username': {
    id: 'deleteUser',
    summary: 'Delete a user',
    answers: done('There is no such user any more.'),
    problems: ['invalid-body', 'not-found', 'last-admin', 'reserved-user'],
  },
  'POST /users/:username/logout': {
    id: 'logOutUser',
    summary: 'End every login of a user',
    description:
      'Ends tokens, key-signed tokens and sessions; with `everything=true` API keys and the Digest secret as well.',
    query: logoutParameters,
    answers: done('None of the tokens of that user works any more.'),
    problems: ['invalid-parameter', 'not-found'],
  },
  'PUT /users/:username/password': {
    id: 'putPassword',
    summary: "Change one's own password, or with the right to, another user's",
    description: "Ends that user's other logins. For another user you need every right of that user.",
    body: bodyOf(passwordSchema),
    answers: done('The password is changed.'),
    problems: [...bodyProblems, 'not-found', 'wrong-password', 'reserved-user', 'too-many-attempts', 'too-many-logins'],
  },
  'PUT /users/:username/digest-secret': {
    id: 'putDigestSecret',
    summary: "Make one's own secret for HTTP Digest, or with the right to, another user's",
    description:
      'Generated, shown only now; the one before no longer works. Needs your password or a login younger than five minutes; for another user every right of that user.',
    body: bodyOf(digestSecretSchema, false),
    answers: { 200: { description: 'The secret.', schema: ref('DigestSecret') } },
    problems: [...bodyProblems, ...proofProblems, 'not-found', 'reserved-user'],
  },
}

/** @throws TypeError for a route that is not described here */
export function describeUsersRoute(method: string, path: string): Operation {
  const operation = operations[`${method} ${path}`]
  if (!operation) throw new TypeError(`the documentation does not know ${method} ${path}`)
  return { tag: 'users', ...operation, problems: [...callerProblems, 'missing-right', ...operation.problems] }
}
