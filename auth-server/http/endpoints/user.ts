/** A user in responses. */
import * as z from 'zod'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { component, time } from '../../../shared/server/endpoints/endpoint.ts'
import type { User } from '../../users/user.ts'

/** A user as administrators see it. */
export const userComponent = component(
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
export const representUser = (user: User) => ({
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
