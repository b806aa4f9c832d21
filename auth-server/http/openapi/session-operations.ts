/** The operations of sessions and of lists of logins. */
import { formType } from '../../../shared/platform/http/content/form-body.ts'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import { jsonSchemaOf, ref } from '../../../shared/platform/openapi/json-schema.ts'
import { bodyProblems } from '../../../shared/platform/openapi/problem-answers.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'
import { endingFormSchema, sessionFormSchema, sessionJsonSchema } from '../endpoints/session-bodies.ts'

const goesOn = { description: 'The browser goes on to `return_to`.', headers: ['Location', 'Set-Cookie'] }
const page = { 200: { description: 'Logins, the newest first.', schema: ref('LoginPage'), headers: ['Link'] } }
const listProblems = [...callerProblems, 'invalid-parameter', 'invalid-cursor']
const ending = {
  description:
    '`{key}` is the session key, which is then the credential; or `current`; or the `id` of one of your logins. One that has ended already is no error.',
  answers: { 204: { description: 'It has ended.', headers: ['Set-Cookie'] }, 303: goesOn },
  problems: [...callerProblems, ...bodyProblems, 'not-found', 'narrowed-credential'],
}

type Described = Omit<Operation, 'tag'>

/** Method and route → operation. */
const operations: Readonly<Record<string, Described>> = {
  'POST /sessions': {
    id: 'signIn',
    summary: 'Start a session: sign in by cookie',
    description: 'The session of the cookie that comes along ends. A form with `return_to` is answered 303.',
    body: {
      schema: jsonSchemaOf(sessionJsonSchema),
      required: true,
      alternatives: { [formType]: jsonSchemaOf(sessionFormSchema) },
    },
    answers: { 201: { description: 'A new session.', schema: ref('Session'), headers: ['Set-Cookie'] }, 303: goesOn },
    problems: [
      ...['insecure-transport', 'unavailable', ...bodyProblems, 'body-too-large', 'cross-site', 'invalid-credentials'],
      ...['too-many-logins', 'too-many-attempts'],
    ],
    security: [],
  },
  'GET /sessions': {
    id: 'listOwnLogins',
    summary: "List one's own sessions and token logins",
    query: pageParameters,
    answers: page,
    problems: [...listProblems, 'narrowed-credential'],
  },
  'DELETE /sessions/:key': { id: 'signOut', summary: 'End a session or token login', ...ending },
  'POST /sessions/:key': {
    ...ending,
    id: 'signOutByForm',
    summary: 'End a session or token login from a form',
    description: `For browsers: with the field \`_method=DELETE\`, or with \`X-HTTP-Method-Override: DELETE\`. ${ending.description}`,
    body: { schema: jsonSchemaOf(endingFormSchema), required: false, mediaTypes: [formType] },
    problems: [...ending.problems, 'method-not-allowed'],
  },
  'GET /users/:username/sessions': {
    id: 'listLogins',
    summary: 'List the sessions and token logins of a user',
    query: pageParameters,
    answers: page,
    problems: [...listProblems, 'missing-right', 'not-found'],
  },
  'DELETE /users/:username/sessions': {
    id: 'endLogins',
    summary: 'End all sessions and token logins of a user',
    answers: { 204: { description: 'They have ended.' } },
    problems: [...callerProblems, 'missing-right', 'not-found'],
  },
  'GET /users/:username/sessions/:id': {
    id: 'getLogin',
    summary: 'Read a session or token login of a user',
    answers: { 200: { description: 'The login.', schema: ref('Login') } },
    problems: [...callerProblems, 'missing-right', 'not-found'],
  },
  'DELETE /users/:username/sessions/:id': {
    id: 'endLogin',
    summary: 'End a session or token login of a user',
    answers: { 204: { description: 'It has ended.' } },
    problems: [...callerProblems, 'invalid-body', 'missing-right', 'not-found'],
  },
}

/** @throws TypeError for a route that is not described here */
export function describeSessionsRoute(method: string, path: string): Operation {
  const operation = operations[`${method} ${path}`]
  if (!operation) throw new TypeError(`the documentation does not know ${method} ${path}`)
  return { tag: 'sessions', ...operation }
}
