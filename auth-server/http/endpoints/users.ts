/** /users: administration of users (docs/contract/accounts.md#users). */
import * as z from 'zod'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import { pageOf } from '../../../shared/platform/http/pagination/page-schema.ts'
import { foldUsername } from '../../../shared/protocol/principal/record.ts'
import { component, defineEndpoint, jsonBody, time } from '../../../shared/server/endpoints/endpoint.ts'
import type { User } from '../../users/user.ts'
import { requireMatch, tagged } from '../request-parts/entity-tag.ts'
import { lineText } from '../request-parts/line-text.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { nameOfRole } from './access/roles.ts'

/** Common members of all these routes. */
const ofUsers = { tag: 'users', right: 'user.manage' } as const
const names = z.array(z.string()).max(100)

/** An address as `user@example.org` or `user@localhost`: no quotes, no comments, a domain in ASCII. */
const emailForm = /^(?!\.|.*\.[.@])[\w!#$%&'*+/=?^`{|}~.-]+@(?:localhost|(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]{2,})$/

const email = z.string().trim().max(254).regex(emailForm, 'Expected an address such as user@example.org')

const newUser = z.strictObject({
  username: z.string(),
  password: z.string().optional().meta({ description: 'Required, unless `passwordHash` is there.' }),
  passwordHash: z.string().max(512).optional().meta({
    description: 'In place of `password`: its hash by Argon2id, bcrypt, scrypt or PBKDF2, as another system made it.',
  }),
  roles: names.optional(),
  rights: names.optional(),
  enabled: z.boolean().optional(),
  displayName: lineText(1, 100).nullable().optional(),
  email: email.nullable().optional(),
  emailVerified: z.boolean().optional(),
})

const creationSchema = newUser.superRefine(({ password, passwordHash }, { addIssue }) => {
  if (password === undefined && passwordHash === undefined)
    addIssue({ code: 'invalid_type', expected: 'string', path: ['password'], input: undefined })
  if (password !== undefined && passwordHash !== undefined) {
    const message = 'Expected a password or its hash, not both.'
    addIssue({ code: 'custom', path: ['passwordHash'], message, params: { code: 'password-twice' } })
  }
})

/** Each member that is present replaces the stored value. */
const patchSchema = newUser.omit({ username: true, password: true, passwordHash: true })

/** The characters of user names alone: no other text is a part of one. */
const partOfName = z.string().regex(/^[A-Za-z0-9._@-]{1,64}$/, 'Expected a part of a user name')

const listParameters = pageParameters.extend({
  q: partOfName.optional().meta({ description: 'A part of the name. The case of letters does not matter.' }),
  role: nameOfRole.optional().meta({ description: 'Users with this role.' }),
  enabled: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .meta({ description: 'Users who are enabled, or those who are not.', type: 'boolean', enum: undefined }),
})

const logoutParameters = z.strictObject({
  everything: z.enum(['true', 'false']).optional().meta({
    description: 'With `true` the API keys and the Digest secret of the user end too.',
  }),
})

/** Creates the endpoints for the administration of users. */
export const usersEndpoints = ({ users, lists }: AuthServices) => [
  defineEndpoint({
    method: 'GET',
    path: '/users',
    id: 'listUsers',
    summary: 'List users',
    description: 'Needs the right `user.manage`. In the order of their names. All filters together must hold.',
    ...ofUsers,
    query: listParameters,
    success: { description: 'Users.', headers: ['Link'] },
    response: component('UserPage', pageOf(userComponent.schema)),
    problems: ['invalid-cursor'],
    check: ({ request, query: { limit, cursor, ...filter } }) => {
      const query = { ...filter, q: filter.q === undefined ? undefined : foldUsername(filter.q) }
      return lists.open(request, { list: 'users', query }, { limit, cursor })
    },
    handle: async ({ query: { q, role, enabled }, checked: list }) =>
      list.reply(await users.list({ ...list.page, q, role, enabled }), representUser),
  }),
  defineEndpoint({
    method: 'POST',
    path: '/users',
    id: 'createUser',
    summary: 'Create a user',
    description: 'With roles and rights that you have yourself, and no others.',
    ...ofUsers,
    body: jsonBody(creationSchema),
    status: 201,
    success: { description: 'The new user.', headers: ['Location'] },
    response: userComponent,
    problems: ['user-exists', 'reserved-user'],
    audit: ({ body }) => ({ action: 'user.created', target: body.username }),
    check: ({ body }) => users.check(body),
    grants: ({ checked }) => checked,
    handle: async ({ body, caller }) => {
      const user = await users.create(body, caller)
      return { body: representUser(user), headers: { location: `/users/${encodeURIComponent(user.username)}` } }
    },
  }),
  defineEndpoint({
    method: 'GET',
    path: '/users/:username',
    id: 'getUser',
    summary: 'Read a user',
    description: 'Needs the right `user.manage`. With roles, direct rights, and whether the user is enabled.',
    ...ofUsers,
    success: { description: 'The user.', headers: ['ETag'] },
    response: userComponent,
    problems: ['not-found'],
    handle: async ({ path }) => tagged(representUser(await users.read(path.username))),
  }),
  defineEndpoint({
    method: 'PATCH',
    path: '/users/:username',
    id: 'patchUser',
    summary: 'Replace roles, direct rights, name or address of a user, enable or disable one',
    description:
      'You can give and take away the rights that you have yourself, and enable a user who has no others. ' +
      'You can disable every user. An address that changes is not verified, unless `emailVerified` is there too.',
    ...ofUsers,
    body: jsonBody(patchSchema, { required: false }),
    success: { description: 'The user.', headers: ['ETag'] },
    response: userComponent,
    requestHeaders: ['IfMatch'],
    problems: ['not-found', 'last-admin', 'precondition-failed'],
    audit: ({ path }) => ({ action: 'user.changed', target: path.username }),
    check: ({ path, body }) => users.checkPatch(path.username, body),
    handle: async ({ request, path, body, caller }) => {
      const requires = (now: User) => requireMatch(request, representUser(now))
      return tagged(representUser(await users.patch(path.username, { ...body, requires }, caller)))
    },
  }),
  defineEndpoint({
    method: 'DELETE',
    path: '/users/:username',
    id: 'deleteUser',
    summary: 'Delete a user',
    description:
      'Needs every right of that user. All credentials of the user end within a second. The last administrator stays.',
    ...ofUsers,
    success: { description: 'There is no such user any more.' },
    requestHeaders: ['IfMatch'],
    problems: ['not-found', 'last-admin', 'reserved-user', 'precondition-failed'],
    audit: ({ path }) => ({ action: 'user.deleted', target: path.username }),
    handle: async ({ request, path, caller }) => {
      await users.delete(path.username, caller, (now) => requireMatch(request, representUser(now)))
    },
  }),
  defineEndpoint({
    method: 'POST',
    path: '/users/:username/logout',
    id: 'logOutUser',
    summary: 'End every login of a user',
    description:
      'Ends tokens, key-signed tokens and sessions; with `everything=true` API keys and the Digest secret as well.',
    ...ofUsers,
    query: logoutParameters,
    success: { description: 'None of the tokens of that user works any more.' },
    problems: ['not-found'],
    audit: ({ path, query }) => ({
      action: query.everything === 'true' ? 'user.credentials-ended' : 'user.logged-out',
      target: path.username,
    }),
    handle: ({ path, query }) => users.logOutEverywhere(path.username, { everything: query.everything === 'true' }),
  }),
  defineEndpoint({
    method: 'GET',
    path: '/users/:username/lock',
    id: 'getUserLock',
    summary: 'Read until when a user is locked out by failed attempts',
    description: 'Needs the right `user.manage`. A lock is known from the first attempt that is refused.',
    ...ofUsers,
    success: { description: 'The end of the lock.' },
    response: lockComponent,
    problems: ['not-found'],
    handle: async ({ path }) => {
      const until = await users.lockedUntil(path.username)
      return { body: { lockedUntil: until === undefined ? null : rfc3339(until) } }
    },
  }),
  defineEndpoint({
    method: 'DELETE',
    path: '/users/:username/lock',
    id: 'unlockUser',
    summary: 'Unlock a user who is locked out by failed attempts',
    description: 'Needs every right of that user. Failures of the account count from zero; its logins go on.',
    ...ofUsers,
    success: { description: 'The user is not locked.' },
    problems: ['not-found'],
    audit: ({ path }) => ({ action: 'user.unlocked', target: path.username }),
    handle: ({ path, caller }) => users.unlock(path.username, caller),
  }),
]

const lockComponent = component(
  'UserLock',
  z.object({
    lockedUntil: time.nullable().meta({
      description: 'When attempts are accepted again; null when none was refused for too many failures.',
    }),
  }),
)

/** A user as administrators see it. */
const userComponent = component(
  'User',
  z.object({
    id: z.string().meta({ format: 'uuid' }),
    username: z.string(),
    roles: z.array(z.string()),
    rights: z.array(z.string()).meta({ description: 'Direct rights only.' }),
    enabled: z.boolean(),
    displayName: z.string().nullable().meta({ description: 'The name that people read.' }),
    email: z.string().nullable(),
    emailVerified: z.boolean().meta({ description: 'An administrator has checked the address.' }),
    createdAt: time,
    updatedAt: time,
  }),
)

/** Represents a user in this form. */
const representUser = (user: User) => ({
  id: user.id,
  username: user.username,
  roles: user.roles,
  rights: user.rights,
  enabled: user.enabled,
  displayName: user.displayName,
  email: user.email,
  emailVerified: user.emailVerified,
  createdAt: rfc3339(user.createdAt),
  updatedAt: rfc3339(user.updatedAt),
})
