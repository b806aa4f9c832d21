/** API keys in requests and responses. */
import * as z from 'zod'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { time } from '../../../shared/server/endpoints/endpoint.ts'
import { type ApiKey, expiresSoonMs, maxOverlapSeconds } from '../../api-keys/api-key.ts'
import { lineText } from '../request-parts/line-text.ts'
import { proofMembers } from '../request-parts/recent-proof-members.ts'

/** The request to create a key. */
export const creationSchema = z.strictObject({
  kind: z.enum(['hmac', 'rsa']),
  username: z.string().optional().meta({ description: 'Whose key; your own when left out.' }),
  name: lineText(1, 100).optional(),
  publicKeyPem: z
    .string()
    .max(10_000)
    .optional()
    .meta({ description: 'The public half of your own pair, for kind rsa; without it a pair is made.' }),
  requireBodyHash: z.boolean().optional().meta({
    default: true,
    description: 'Signatures of requests that change something must bind their method, and their body if there is one.',
  }),
  rights: z
    .array(z.string())
    .max(100)
    .optional()
    .meta({
      description:
        'All that the key may do of what its owner may; everything when left out. ' +
        'A key for another user carries no right that you lack.',
    }),
  expiresAt: z.iso.datetime({ offset: true }).optional(),
  ...proofMembers,
})

/** The request for new material of a key. */
export const rotationSchema = z.strictObject({
  publicKeyPem: creationSchema.shape.publicKeyPem,
  overlapSeconds: z.int().min(0).max(maxOverlapSeconds).default(86_400).meta({
    description: 'How long the former secret or key pair is accepted too. 0 refuses it at once.',
  }),
  expiresAt: z.iso.datetime({ offset: true }).nullable().optional().meta({
    description: 'A new expiry; null for none. It stays when left out.',
  }),
  ...proofMembers,
})

/** The request for a new secret of a service or a client. */
export const secretRotationSchema = z.strictObject({
  overlapSeconds: rotationSchema.shape.overlapSeconds.meta({
    description: 'How long the former secret is accepted too. 0 refuses it at once.',
  }),
  ...proofMembers,
})

/** A key as its owner sees it. */
export const apiKeySchema = z.object({
  id: z.string().meta({ format: 'uuid', description: '`apiKey` of a signed request, `client_id` of an OAuth client.' }),
  kind: z.enum(['hmac', 'rsa']),
  username: z.string(),
  name: z.string().nullable(),
  requireBodyHash: z.boolean(),
  rights: z.array(z.string()).nullable().meta({ description: 'Null: all that the owner has.' }),
  publicKeyPem: z.string().optional().meta({ description: 'Of kind rsa.' }),
  createdAt: time,
  expiresAt: time.nullable(),
  expiresSoon: z.boolean().meta({ description: 'True in the last 14 days before `expiresAt`.' }),
  formerUntil: time.nullable().meta({
    description: 'Until when the secret or key pair before the last rotation is accepted too.',
  }),
  lastUsedAt: time.nullable().meta({ description: 'Moves in steps of a minute.' }),
  suspended: z.boolean().meta({
    description: 'Made without a second factor, which its owner has or needs now: refused until it is confirmed.',
  }),
})

/** A new key, with its secret or private key. */
export const newApiKeySchema = apiKeySchema.extend({
  secret: z.string().optional().meta({ description: 'Of kind hmac: shown only now.' }),
  privateKeyPem: z
    .string()
    .optional()
    .meta({ description: 'Of kind rsa, where the pair was made here: shown only now.' }),
})

/** Represents a key at this time, in milliseconds, in the form of `apiKeySchema`. */
export const representApiKey = (
  { createdAt, expiresAt, formerUntil, lastUsedAt, publicKeyPem, ...key }: ApiKey,
  now: number,
) => ({
  id: key.id,
  kind: key.kind,
  username: key.username,
  name: key.name,
  requireBodyHash: key.requireBodyHash,
  rights: key.rights,
  ...(publicKeyPem === null ? {} : { publicKeyPem }),
  createdAt: rfc3339(createdAt),
  expiresAt: expiresAt === null ? null : rfc3339(expiresAt),
  expiresSoon: expiresAt !== null && expiresAt - now <= expiresSoonMs,
  formerUntil: formerUntil === null || formerUntil <= now ? null : rfc3339(formerUntil),
  lastUsedAt: lastUsedAt === null ? null : rfc3339(lastUsedAt),
  suspended: key.isSuspended,
})
