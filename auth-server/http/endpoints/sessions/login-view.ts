/** Sessions and token logins in responses. */
import * as z from 'zod'
import { rfc3339 } from '../../../../shared/platform/clock.ts'
import { pageOf } from '../../../../shared/platform/http/pagination/page-schema.ts'
import { ProblemError } from '../../../../shared/platform/problems/errors.ts'
import { component, time } from '../../../../shared/server/endpoints/endpoint.ts'
import type { LoginView } from '../../../logins/list-logins.ts'

const loginSchema = z.object({
  id: z.string().meta({ format: 'uuid' }),
  kind: z.enum(['session', 'login']).meta({ description: 'By cookie, or by tokens.' }),
  createdAt: time,
  lastUsedAt: time.meta({ description: 'Of a login by tokens: when it was refreshed last. RFC 3339.' }),
  expiresAt: time.meta({ description: 'However much used, it ends then. RFC 3339.' }),
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
  client: z.object({ id: z.string(), name: z.string() }).nullable().meta({
    description: 'The application that it signs in to. Null for a session, and for a login at `/login`.',
  }),
  current: z.boolean().meta({ description: 'It is that of the credential that asks.' }),
})

/** One login. */
export const loginComponent = component('Login', loginSchema)

/** The success of endpoints that list logins. */
export const loginPage = {
  success: { description: 'Logins, the newest first.', headers: ['Link'] },
  response: component('LoginPage', pageOf(loginSchema)),
} as const

/** Represents a login. `currentId` is the id of the login that the request belongs to. */
export const representLogin =
  (currentId: string | undefined) =>
  ({ id, kind, createdAt, lastUsedAt, expiresAt, address, userAgent, client }: LoginView) => ({
    id,
    kind,
    createdAt: rfc3339(createdAt),
    lastUsedAt: rfc3339(lastUsedAt),
    expiresAt: rfc3339(expiresAt),
    address,
    userAgent,
    client,
    current: id === currentId,
  })

/** The refusal of an id that names no login of this user. */
export const noSuchLogin = (of: 'of yours' | 'of this user') =>
  new ProblemError('not-found', `There is no such session or login ${of}.`)
