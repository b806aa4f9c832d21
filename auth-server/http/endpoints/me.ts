/** GET /me: the caller, with its roles and rights. */
import * as z from 'zod'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { noSuchUser } from '../../users/user-rows.ts'
import { component, time } from '../pipeline/description.ts'
import { defineEndpoint } from '../pipeline/endpoint.ts'

/** Services that the endpoint uses. */
export interface MePorts {
  /** The user's roles; undefined when the user was deleted a moment ago. */
  rolesOf(username: string): Promise<readonly string[] | undefined>
}

const response = component(
  'Me',
  z.object({
    username: z.string(),
    roles: z.array(z.string()),
    rights: z.array(z.string()).meta({ description: 'Those of the roles and the direct ones together.' }),
    scheme: z.string(),
    expiresAt: time.nullable(),
  }),
)

/** GET /me. */
export const meEndpoint = ({ rolesOf }: MePorts) =>
  defineEndpoint({
    method: 'GET',
    path: '/me',
    id: 'getMe',
    summary: 'Read who the caller is',
    description: 'The name, the rights in force, and by which scheme and credential the caller came.',
    tag: 'users',
    caller: 'required',
    status: 200,
    success: { description: 'The caller.' },
    response,
    handle: async ({ caller: { username, rights, scheme, credential } }) => {
      const { expiresAt } = credential
      const roles = await rolesOf(username)
      if (!roles) throw noSuchUser()
      return {
        body: {
          username,
          roles,
          rights: [...rights],
          scheme,
          expiresAt: expiresAt === undefined ? null : rfc3339(expiresAt),
        },
      }
    },
  })
