/** What the routes below `/users` are sent. */
import { z } from 'zod'
import { provingPassword } from './api-key-bodies.ts'

const names = z.array(z.string()).max(100)

/** A new user. */
export const creationSchema = z.strictObject({
  username: z.string(),
  password: z.string(),
  roles: names.optional(),
  rights: names.optional(),
  enabled: z.boolean().optional(),
})

/** What an administrator changes: each member that is there replaces. */
export const patchSchema = creationSchema.pick({ roles: true, rights: true, enabled: true })

/** How much a logout ends. */
export const logoutParameters = z.strictObject({
  everything: z.enum(['true', 'false']).optional().meta({
    description: 'With `true` the API keys and the Digest secret of the user end too.',
  }),
})

/** A new password; one's own needs the old one. */
export const passwordSchema = z.strictObject({ newPassword: z.string(), oldPassword: z.string().optional() })

/** A new Digest secret: there is nothing to choose. */
export const digestSecretSchema = z.strictObject({ password: provingPassword })
