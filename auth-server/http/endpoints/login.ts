/** POST /login: a login by user name and password (docs/contract.md#login). */
import * as z from 'zod'
import type { Audit } from '../../audit/audit.ts'
import type { LogIn } from '../../logins/login.ts'
import { auditDisplaced } from '../pipeline/audited.ts'
import { jsonBody } from '../pipeline/bodies.ts'
import { defineCredentialEndpoint } from '../pipeline/endpoint.ts'
import { nameCaller, password } from '../pipeline/own-credential.ts'
import { noCache, tokenPair } from './tokens.ts'

/** Services that the endpoint uses. */
export interface LoginEndpointPorts {
  readonly logIn: LogIn
  readonly audit: Audit
}

/** POST /login. */
export const loginEndpoint = ({ logIn, audit }: LoginEndpointPorts) =>
  defineCredentialEndpoint({
    method: 'POST',
    path: '/login',
    id: 'logIn',
    summary: 'Log in with user name and password',
    description:
      'Keep one login and refresh it. A user has at most `MAX_LOGINS_PER_USER` (100 unless set otherwise) logins, ' +
      'sessions included: the one longest not used ends when another begins.',
    tag: 'tokens',
    caller: password,
    body: jsonBody(z.strictObject({ username: z.string(), password: z.string() })),
    ...tokenPair,
    problems: ['too-many-logins'],
    audit: ({ body: { username } }) => ({ actor: username, action: 'login.started', target: username }),
    handle: async ({ request, body }) => {
      const client = { clientAddress: request.peer.address, userAgent: request.header('user-agent') }
      const callbacks = { proved: nameCaller(request), onDisplaced: auditDisplaced(audit, request) }
      return { body: await logIn({ ...body, ...client, ...callbacks }), headers: noCache }
    },
  })
