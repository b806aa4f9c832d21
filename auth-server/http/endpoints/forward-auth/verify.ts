/** GET /verify: a proxy asks whether a request to another service may pass (docs/forward-auth.md). */
import * as z from 'zod'
import { ProblemError } from '../../../../shared/platform/problems/errors.ts'
import { originOf } from '../../../../shared/protocol/authentication/application.ts'
import { narrowed, refuseAnonymous, requireRights } from '../../../../shared/protocol/authentication/authenticate.ts'
import { defineCredentialEndpoint } from '../../../../shared/server/endpoints/endpoint.ts'
import { eventOf } from '../../../audit/change-entries.ts'
import type { AuthServices } from '../../services/auth-services.ts'
import { forwardedCredential } from './forwarded-credential.ts'
import { identityHeaders } from './identity-headers.ts'

/** More rights than any request needs. */
const maxDemanded = 32

const question = z.strictObject({
  right: z
    .array(z.string().regex(/^[\x21-\x7e]{1,128}$/, 'Expected the name of a right'))
    .max(maxDemanded)
    .default([])
    .meta({ description: 'Rights that the caller must have. Repeat the parameter for several.' }),
  token: z.literal('1').optional().meta({ description: 'Asks for `Keyhold-Token`.' }),
  resource: z
    .string()
    .max(256)
    .optional()
    .meta({
      description:
        'RFC 8707: the audience of the service behind. Credentials for it are accepted, too; rights are its own, and ' +
        '`Keyhold-Token` is for it. Left out: the auth server and the deal server.',
    }),
  signIn: z.literal('1').optional().meta({
    description: 'Leads a browser without a session to the sign-in page, when the service shares a host with the pair.',
  }),
  bodyLength: z
    .string()
    .regex(/^\d{0,15}$/, 'Expected a number of bytes, or nothing')
    .optional()
    .meta({ description: 'The length of the body of the original request, in bytes; empty when it is not known.' }),
})

/** GET /verify. OPTIONS is refused: its 204 would be a permission to a proxy that asks by the method of its client. */
export const verifyEndpoint = (services: AuthServices) =>
  defineCredentialEndpoint({
    method: 'GET',
    path: '/verify',
    id: 'verifyForwarded',
    summary: 'Ask whether a request to another service may pass',
    description:
      'For proxies in front of other services (forward-auth). The proxy passes on the header fields of its client, and ' +
      'writes `X-Forwarded-For`, `-Method`, `-Uri`, `-Host` and `-Proto`; its address is in `TRUST_PROXY`. The ' +
      'credential is that of the client, by any scheme. The answer names the caller in `Keyhold-User`, ' +
      '`Keyhold-User-Id`, `Keyhold-Scheme` and `Keyhold-Rights`, and `Keyhold-Token` has an access token of at most 60 ' +
      'seconds. Each refusal of a credential is 401, also what is 400 elsewhere. A key-signed token without a name ' +
      'passes for safe methods alone, where a right is demanded.',
    tag: 'tokens',
    caller: forwardedCredential(services),
    maxBodyBytes: 256 * 1024,
    answersOptions: false,
    query: question,
    status: 200,
    success: { description: 'The request may pass. The header fields say who calls.' },
    otherResponses: { 303: { description: 'The browser signs in, and comes back.', headers: ['Location'] } },
    problems: ['missing-right', 'insecure-transport', 'too-many-attempts'],
    handle: async ({ request, caller: { caller, server, isSafe }, query: { right, token } }) => {
      if (server === undefined) {
        throw new ProblemError('invalid-parameter', 'resource: No resource server has this audience.')
      }
      if (right.length === 0 || !isSafe) refuseAnonymous(caller)
      const known = { ...caller, rights: narrowed(caller.rights, server?.rights) }
      requireRights(known, right)
      const headers = identityHeaders(known, right)
      if (token === undefined) return { headers }
      const issued = await services.issueProxyToken(caller, server?.audience ?? null)
      const entry = { action: 'token.issued', target: caller.credential.loginId }
      await services.audit.recordRefusal(eventOf(originOf(request, caller), entry))
      return { headers: { ...headers, 'keyhold-token': issued } }
    },
  })
