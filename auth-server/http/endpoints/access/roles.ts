/** /roles: roles are data (docs/contract/accounts.md#catalogue). */
import * as z from 'zod'
import { rfc3339 } from '../../../../shared/platform/clock.ts'
import { component, defineEndpoint, jsonBody, time } from '../../../../shared/server/endpoints/endpoint.ts'
import type { Role } from '../../../access/roles.ts'
import { requireMatch, tagged } from '../../request-parts/entity-tag.ts'
import { lineText } from '../../request-parts/line-text.ts'
import type { AuthServices } from '../../services/auth-services.ts'

/** Common members of all these routes. */
const ofRoles = { tag: 'access', right: 'user.manage' } as const

const valuesSchema = z.strictObject({
  description: lineText(0, 500).default(''),
  rights: z.array(z.string()).max(2_000),
})

/** The name of a role. */
export const nameOfRole = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'Expected 1 to 63 small letters, digits or any of . _ -')

const creationSchema = valuesSchema.extend({ name: nameOfRole })

const roleComponent = component(
  'Role',
  z.object({
    name: z.string(),
    description: z.string(),
    rights: z.array(z.string()).meta({ description: 'In the order of the catalogue. Of `admin`: all rights.' }),
    createdAt: time,
    updatedAt: time,
  }),
)

const represent = ({ name, description, rights, createdAt, updatedAt }: Role) => ({
  name,
  description,
  rights,
  createdAt: rfc3339(createdAt),
  updatedAt: rfc3339(updatedAt),
})

/** Creates the endpoints for roles. */
export const rolesEndpoints = ({ roles }: AuthServices) => [
  defineEndpoint({
    method: 'GET',
    path: '/roles',
    id: 'listRoles',
    summary: 'List roles',
    description: 'All of them, in the order in which they were made.',
    ...ofRoles,
    success: { description: 'Roles.' },
    response: component('RoleList', z.object({ items: z.array(roleComponent.schema) })),
    handle: async () => ({ body: { items: (await roles.list()).map(represent) } }),
  }),
  defineEndpoint({
    method: 'POST',
    path: '/roles',
    id: 'createRole',
    summary: 'Create a role',
    description: 'With rights that you have yourself, and no others.',
    ...ofRoles,
    body: jsonBody(creationSchema),
    status: 201,
    success: { description: 'The new role.', headers: ['Location'] },
    response: roleComponent,
    problems: ['role-exists', 'too-many-roles'],
    audit: ({ body }) => ({ action: 'role.created', target: body.name }),
    handle: async ({ body: { name, description, rights }, caller }) => {
      const role = await roles.create(name, { description, rights }, caller)
      return { body: represent(role), headers: { location: `/roles/${encodeURIComponent(name)}` } }
    },
  }),
  defineEndpoint({
    method: 'GET',
    path: '/roles/:name',
    id: 'getRole',
    summary: 'Read a role',
    description: 'Needs the right `user.manage`. With its rights.',
    ...ofRoles,
    success: { description: 'The role.', headers: ['ETag'] },
    response: roleComponent,
    problems: ['not-found'],
    handle: async ({ path }) => tagged(represent(await roles.read(path.name))),
  }),
  defineEndpoint({
    method: 'PUT',
    path: '/roles/:name',
    id: 'replaceRole',
    summary: 'Replace the description and the rights of a role',
    description:
      'In force within a second for all who have the role. You can add and take away the rights that you have ' +
      'yourself. The role `admin` always has all rights.',
    ...ofRoles,
    body: jsonBody(valuesSchema),
    success: { description: 'The role.', headers: ['ETag'] },
    response: roleComponent,
    requestHeaders: ['IfMatch'],
    problems: ['not-found', 'reserved-role', 'precondition-failed'],
    audit: ({ path }) => ({ action: 'role.changed', target: path.name }),
    handle: async ({ request, path, body, caller }) => {
      const requires = (now: Role) => requireMatch(request, represent(now))
      return tagged(represent(await roles.replace(path.name, { ...body, requires }, caller)))
    },
  }),
  defineEndpoint({
    method: 'DELETE',
    path: '/roles/:name',
    id: 'deleteRole',
    summary: 'Delete a role',
    description:
      'All who have the role lose it, and its rights, within a second. You need these rights yourself. A later role of ' +
      'the same name is another one. The role `admin` and the roles of SECOND_FACTOR_ROLES stay.',
    ...ofRoles,
    success: { description: 'There is no such role any more.' },
    requestHeaders: ['IfMatch'],
    problems: ['not-found', 'reserved-role', 'precondition-failed'],
    audit: ({ path }) => ({ action: 'role.deleted', target: path.name }),
    handle: async ({ request, path, caller }) => {
      await roles.delete(path.name, caller, (now) => requireMatch(request, represent(now)))
    },
  }),
]
