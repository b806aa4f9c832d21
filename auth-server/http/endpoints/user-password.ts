/**
 * PUT /users/{username}/password: users change their own password with the old one. Other users' passwords need a right
 * (docs/contract/accounts.md#passwords).
 */
import * as z from 'zod'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { isOwnAccount, requireOwnAccount } from '../../../shared/protocol/authentication/own-account.ts'
import { foldUsername } from '../../../shared/protocol/principal/record.ts'
import { defineEndpoint, jsonBody } from '../../../shared/server/endpoints/endpoint.ts'
import { loginOf } from '../request-parts/login-of-caller.ts'
import type { AuthServices } from '../services/auth-services.ts'

const schema = z.strictObject({ newPassword: z.string(), oldPassword: z.string().optional() })

/** PUT /users/{username}/password. */
export const userPasswordEndpoint = ({ passwords }: AuthServices) =>
  defineEndpoint({
    method: 'PUT',
    path: '/users/:username/password',
    id: 'putPassword',
    summary: "Change one's own password, or with the right to, another user's",
    description: "Ends that user's other logins. For another user you need every right of that user.",
    tag: 'users',
    body: jsonBody(schema),
    right: 'user.manage',
    account: ({ path }) => path.username,
    success: { description: 'The password is changed.' },
    problems: [
      'not-found',
      'narrowed-credential',
      'wrong-password',
      'reserved-user',
      'too-many-attempts',
      'too-many-logins',
    ],
    // A body without the old password is no attempt, like a body that is not well-formed.
    audit: ({ caller, path, body }) =>
      body.oldPassword === undefined && isOwnAccount(caller, path.username)
        ? undefined
        : { action: 'user.password-changed', target: path.username },
    check: ({ caller, path: { username }, body: { newPassword, oldPassword } }) => {
      if (caller.credential.isForwarded && foldUsername(username) === foldUsername(caller.username))
        requireOwnAccount(caller)
      if (oldPassword === undefined && isOwnAccount(caller, username)) throw oldPasswordMissing()
      passwords.refuseImpossible({ username, newPassword })
    },
    handle: ({ request, caller, path: { username }, body: { newPassword, oldPassword } }) => {
      if (!isOwnAccount(caller, username)) return passwords.reset({ username, newPassword, grantor: caller })
      if (oldPassword === undefined) throw oldPasswordMissing()
      const change = { username, oldPassword, newPassword, clientAddress: request.peer.address, login: loginOf(caller) }
      return passwords.change(change)
    },
  })

function oldPasswordMissing(): ProblemError {
  const errors = [{ pointer: '/oldPassword', code: 'missing-member', message: 'This member is required.' }]
  return new ProblemError('invalid-body', '/oldPassword: One changes one’s own password with the old one.', {
    members: { errors },
  })
}
