/** One-time links for forgotten passwords (docs/contract/accounts.md#forgotten-passwords). */
import * as z from 'zod'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { originOf } from '../../../shared/protocol/authentication/application.ts'
import {
  component,
  defineCredentialEndpoint,
  defineEndpoint,
  jsonBody,
  type OwnCredential,
  time,
} from '../../../shared/server/endpoints/endpoint.ts'
import type { PasswordResetUse } from '../../users/password-resets.ts'
import type { AuthServices } from '../services/auth-services.ts'

/** The path of the page that a link leads to. */
export const resetPagePath = '/account/reset-password'

const resetComponent = component(
  'PasswordReset',
  z.object({
    link: z.string().meta({ format: 'uri', description: 'For the user. The code is behind `#`: no log has it.' }),
    code: z.string().meta({ description: 'The code of the link alone.' }),
    expiresAt: time,
  }),
)

/** The code of a link in the body. `handle` checks it. */
const resetCode: OwnCredential<undefined> = {
  kind: 'password',
  find: () => undefined,
  problems: ['invalid-reset-code', 'too-many-attempts'],
  security: [],
}

/** Creates the endpoints of links for forgotten passwords. */
export const passwordResetEndpoints = (services: AuthServices) => [
  defineEndpoint({
    method: 'POST',
    path: '/users/:username/password-reset',
    id: 'createPasswordReset',
    summary: 'Make a one-time link for a user who forgot the password',
    description:
      'For another user, and you need every right of that user. The link is accepted once within an hour. A new link, ' +
      'a new password, disabling and logging out the user end it.',
    tag: 'users',
    right: 'user.manage',
    status: 201,
    success: { description: 'The link, which is shown only now.' },
    response: resetComponent,
    problems: ['not-found', 'reserved-user', 'user-disabled', 'wrong-password'],
    audit: ({ path }) => ({ action: 'user.password-reset-made', target: path.username }),
    handle: async ({ caller, path }) => {
      const { code, expiresAt } = await services.passwordResets.create(path.username, caller)
      return { body: { link: `${services.origin}${resetPagePath}#${code}`, code, expiresAt: rfc3339(expiresAt) } }
    },
  }),
  defineCredentialEndpoint({
    method: 'POST',
    path: '/password-resets',
    id: 'usePasswordReset',
    summary: 'Set a new password with the code of a link',
    description: 'Ends all logins of the user. A password that is refused does not use the link up.',
    tag: 'users',
    caller: resetCode,
    body: jsonBody(z.strictObject({ code: z.string(), newPassword: z.string() })),
    success: { description: 'The password is changed.' },
    handle: async ({ request, body }) => {
      await usePasswordReset(services, request, body)
    },
  }),
]

/**
 * Uses a link and writes the audit entry, before which the user is not known. Pages use it too.
 * @throws ProblemError `invalid-reset-code`, `invalid-value`, `too-many-attempts`; Unavailable
 */
export async function usePasswordReset(
  { passwordResets, audit }: AuthServices,
  request: HttpRequest,
  use: Omit<PasswordResetUse, 'clientAddress'>,
): Promise<void> {
  const work = () => passwordResets.use({ ...use, clientAddress: request.peer.address })
  await audit.during(originOf(request), { action: 'user.password-reset' }, work)
}
