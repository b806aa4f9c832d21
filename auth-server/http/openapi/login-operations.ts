/** The operations of the token flow, and `/me`. */
import type { z } from 'zod'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import { jsonSchemaOf, ref } from '../../../shared/platform/openapi/json-schema.ts'
import { bodyProblems } from '../../../shared/platform/openapi/problem-answers.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'

const tokens = { description: 'A pair of tokens.', schema: ref('Tokens') }
const ofCredential = ['insecure-transport', 'unavailable']

/** POST /login. */
export const describeLogin = (credentials: z.ZodType): Operation => ({
  id: 'logIn',
  summary: 'Log in with user name and password',
  description:
    'Keep one login and refresh it. A user has at most `MAX_LOGINS_PER_USER` (100 unless set otherwise) logins, sessions included: the one longest not used ends when another begins.',
  tag: 'tokens',
  body: { schema: jsonSchemaOf(credentials), required: true },
  answers: { 200: tokens },
  problems: [
    ...ofCredential,
    ...bodyProblems,
    'body-too-large',
    'invalid-credentials',
    'too-many-attempts',
    'too-many-logins',
  ],
  security: [],
})

/** POST /key-signed-tokens. */
export const describeKeySignedLogin = (body: z.ZodType): Operation => ({
  id: 'createKeySignedToken',
  summary: 'Get a key-signed token for user name and password',
  description:
    'With `ip`, it is good for the address of this request alone; with `password`, whoever uses it sends the password too. Without `username` its caller is `anonymous`.',
  tag: 'tokens',
  body: { schema: jsonSchemaOf(body), required: true },
  answers: { 201: { description: 'The token.', schema: ref('KeySignedToken') } },
  problems: [...ofCredential, ...bodyProblems, 'body-too-large', 'invalid-credentials', 'too-many-attempts'],
  security: [],
})

/** POST /refresh. */
export const describeRefresh = (): Operation => ({
  id: 'refresh',
  summary: 'Exchange a refresh token for a new pair',
  description:
    'Only the latest token of a login is good for it. If the answer was lost, repeat the request within `REFRESH_RETRY_WINDOW` (60 seconds unless set otherwise): it returns the same refresh token, as long as that one is unused. Later reuse ends the login.',
  tag: 'tokens',
  answers: { 200: tokens },
  problems: [
    ...ofCredential,
    'unauthenticated',
    'several-credentials',
    'body-too-large',
    'invalid_grant',
    'too-many-attempts',
  ],
  security: ['refreshToken'],
})

/** POST /logout. */
export const describeLogout = (): Operation => ({
  id: 'logOut',
  summary: 'End the login that either of its tokens names',
  description: 'An access token of an API key belongs to no login, and ends alone.',
  tag: 'tokens',
  answers: { 204: { description: 'None of its tokens works any more.' } },
  problems: [
    ...ofCredential,
    'unauthenticated',
    'several-credentials',
    'body-too-large',
    'invalid-token',
    'too-many-logins',
  ],
  security: ['bearer', 'refreshToken'],
})

/** GET /me. */
export const describeMe = (): Operation => ({
  id: 'getMe',
  summary: 'Read who the caller is',
  tag: 'users',
  answers: { 200: { description: 'The caller.', schema: ref('Me') } },
  problems: callerProblems,
})
