/** /consents: what the caller has let applications do (docs/contract/sign-in.md#consent). */
import * as z from 'zod'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { maxOpenBodyBytes } from '../../../shared/platform/http/request.ts'
import { component, defineEndpoint, time } from '../../../shared/server/endpoints/endpoint.ts'
import type { AuthServices } from '../services/auth-services.ts'

const consentList = component(
  'ConsentList',
  z.object({
    items: z.array(
      z.object({
        clientId: z.string().meta({ format: 'uuid' }),
        name: z.string(),
        rights: z.array(z.string()),
        scopes: z.array(z.string()),
        grantedAt: time,
      }),
    ),
  }),
)

/** Creates the endpoints of consents. */
export const consentsEndpoints = ({ consents }: AuthServices) => [
  defineEndpoint({
    method: 'GET',
    path: '/consents',
    maxBodyBytes: maxOpenBodyBytes,
    id: 'listConsents',
    summary: 'List what one has let applications do',
    description: 'The consents of the caller, by the names of the clients.',
    tag: 'clients',
    right: 'own-account',
    success: { description: 'Consents.' },
    response: consentList,
    handle: async ({ caller }) => {
      const items = await consents.list(caller.userId)
      return { body: { items: items.map((one) => ({ ...one, grantedAt: rfc3339(one.grantedAt) })) } }
    },
  }),
  defineEndpoint({
    method: 'DELETE',
    path: '/consents/:clientId',
    id: 'withdrawConsent',
    summary: 'Take back what one has let an application do',
    description: 'All logins of the caller and this client end within a second at every server.',
    tag: 'clients',
    right: 'own-account',
    success: { description: 'The application can do nothing any more.' },
    problems: ['not-found'],
    audit: ({ path }) => ({ action: 'consent.withdrawn', target: path.clientId.toLowerCase() }),
    handle: ({ caller, path }) => consents.withdraw(caller, path.clientId),
  }),
]
