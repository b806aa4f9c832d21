/** What `/api-keys` is sent. */
import { z } from 'zod'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import { isUsername } from '../../../shared/protocol/principal/record.ts'

const unprintable = /\p{Cc}|\p{Cs}/u

/** What a key is called: 1–100 characters on one line. */
const nameText = z
  .string()
  .transform((value) => value.normalize('NFC').trim())
  .refine((value) => value !== '' && [...value].length <= 100 && !unprintable.test(value), {
    message: 'Expected 1 to 100 characters on one line.',
    params: { code: 'name-form' },
  })
  .meta({ minLength: 1, maxLength: 100 })

/** The caller's own password, with what makes a credential that lasts. */
export const provingPassword = z.string().optional().meta({
  description: 'Your own password. May be left out when your login is younger than five minutes, or with Basic.',
})

/** A key to be made. */
export const apiKeySchema = z.strictObject({
  kind: z.enum(['hmac', 'rsa']),
  username: z.string().optional().meta({ description: 'Whose key; your own when left out.' }),
  name: nameText.optional(),
  publicKeyPem: z
    .string()
    .max(10_000)
    .optional()
    .meta({ description: 'The public half of your own pair, for kind rsa; without it a pair is made.' }),
  requireBodyHash: z.boolean().optional().meta({
    default: true,
    description: 'Signatures of requests that change something must bind their method, and their body if there is one.',
  }),
  rights: z.array(z.string()).max(100).optional().meta({
    description:
      'All that the key may do of what its owner may; everything when left out. A key for another user carries no right that you lack.',
  }),
  expiresAt: z.iso.datetime({ offset: true }).optional(),
  password: provingPassword,
})

/** Which keys are listed. */
export const apiKeyListParameters = pageParameters.extend({
  username: z
    .string()
    .refine(isUsername, 'Expected a user name')
    .optional()
    .meta({ description: 'The keys of this user; needs `api-key.manage` for another.' }),
})
