/** What clients read: the answers of this server as schemas. A test holds them against what is answered. */
import { z } from 'zod'

const time = z.string().meta({ format: 'date-time', description: 'RFC 3339.' })
const seconds = z.number().int().min(0)

export const tokensSchema = z
  .object({
    access_token: z.string(),
    refresh_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: seconds,
    refresh_expires_in: seconds,
  })
  .meta({ description: 'RFC 6749 §5.1. Durations in seconds.' })

export const keySignedTokenSchema = z.object({
  token: z.string(),
  token_type: z.literal('KeySigned'),
  kid: z.string(),
  expires_at: seconds.meta({ description: 'Seconds since the epoch.' }),
  include: z.array(z.enum(['username', 'ip', 'password'])).meta({ description: 'What the token holds.' }),
})

export const meSchema = z.object({
  username: z.string(),
  roles: z.array(z.string()),
  rights: z.array(z.string()).meta({ description: 'Those of the roles and the direct ones together.' }),
  scheme: z.string(),
  expiresAt: time.nullable(),
})

export const userSchema = z.object({
  id: z.string().meta({ format: 'uuid' }),
  username: z.string(),
  roles: z.array(z.string()),
  rights: z.array(z.string()).meta({ description: 'Direct rights only.' }),
  enabled: z.boolean(),
  createdAt: time,
  updatedAt: time,
})

export const userPageSchema = z.object({ items: z.array(userSchema), nextCursor: z.string().nullable() })

export const sessionSchema = z.object({
  id: z.string().meta({ format: 'uuid', description: 'The public id; the key is in the cookie alone.' }),
  user: z.string(),
  expiresAt: time.meta({ description: 'However much used, it ends then. RFC 3339.' }),
})

export const loginSchema = z.object({
  id: z.string().meta({ format: 'uuid' }),
  kind: z.enum(['session', 'login']).meta({ description: 'By cookie, or by tokens.' }),
  createdAt: time,
  lastUsedAt: time.meta({ description: 'Of a login by tokens: when it was refreshed last. RFC 3339.' }),
  expiresAt: time.meta({ description: 'However much used, it ends then. RFC 3339.' }),
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
  current: z.boolean().meta({ description: 'It is that of the credential that asks.' }),
})

export const loginPageSchema = z.object({ items: z.array(loginSchema), nextCursor: z.string().nullable() })

const auditEntrySchema = z.object({
  seq: z.number().int().min(1).meta({ description: 'Without gaps, from 1.' }),
  at: time,
  actor: z.string().nullable().meta({ description: 'A user name; null when nobody has been authenticated.' }),
  action: z.string(),
  target: z.string().nullable().meta({ description: 'A user name or an id.' }),
  outcome: z.string().meta({ description: '`succeeded`, or the code of the refusal.' }),
  scheme: z.string().nullable(),
  address: z.string().nullable(),
  requestId: z.string().nullable(),
  count: z.number().int().min(1).meta({
    description: 'How many equal refusals the entry stands for: one a minute is written down. 1 for everything else.',
  }),
})

export const auditPageSchema = z.object({ items: z.array(auditEntrySchema), nextCursor: z.string().nullable() })

export const oauthTokensSchema = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: seconds,
    scope: z.string().optional(),
    refresh_token: z.string().optional(),
    refresh_expires_in: seconds.optional(),
  })
  .meta({ description: 'RFC 6749 §5.1. Durations in seconds.' })

export const oauthErrorSchema = z
  .object({ error: z.string(), error_description: z.string() })
  .meta({ description: 'RFC 6749 §5.2.' })

export const introspectionSchema = z
  .object({
    active: z.boolean(),
    scope: z.string().optional().meta({ description: 'Names of rights.' }),
    client_id: z.string().optional(),
    username: z.string().optional(),
    token_type: z.string().optional(),
    exp: seconds.optional(),
    iat: seconds.optional(),
    sub: z.string().optional(),
    aud: z.union([z.string(), z.array(z.string())]).optional(),
    iss: z.string().optional(),
    jti: z.string().optional(),
  })
  .meta({ description: 'RFC 7662 §2.2. An inactive token is `{"active": false}` and nothing else.' })

const names = z.array(z.string())

export const oauthMetadataSchema = z
  .object({
    issuer: z.string(),
    token_endpoint: z.string(),
    revocation_endpoint: z.string(),
    introspection_endpoint: z.string(),
    jwks_uri: z.string(),
    service_documentation: z.string(),
    grant_types_supported: names,
    response_types_supported: names,
    scopes_supported: names,
    token_endpoint_auth_methods_supported: names,
    token_endpoint_auth_signing_alg_values_supported: names,
    revocation_endpoint_auth_methods_supported: names,
    revocation_endpoint_auth_signing_alg_values_supported: names,
    introspection_endpoint_auth_methods_supported: names,
    introspection_endpoint_auth_signing_alg_values_supported: names,
  })
  .meta({ description: 'RFC 8414 §2.' })

export const jwkSetSchema = z
  .object({
    keys: z.array(
      z.object({
        kty: z.literal('RSA'),
        kid: z.string(),
        use: z.literal('sig'),
        alg: z.string(),
        n: z.string(),
        e: z.string(),
      }),
    ),
  })
  .meta({ description: 'RFC 7517 §5.' })

export const keyStatusSchema = z.object({
  items: z.array(
    z.object({
      kid: z.string().meta({ description: 'RFC 7638 thumbprint.' }),
      use: z.enum(['jwt', 'key-signed']),
      alg: z.string(),
      state: z.enum(['pending', 'active', 'retired', 'removed']),
      createdAt: time,
      publishedAt: time.nullable(),
      activatedAt: time.nullable(),
      retiredAt: time.nullable(),
      removeAt: time.nullable().meta({ description: 'When a retired key is to be removed.' }),
      revokedAt: time.nullable(),
      revokedReason: z.string().nullable(),
    }),
  ),
  nextCursor: z.null(),
})

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
  lastUsedAt: time.nullable().meta({ description: 'Moves in steps of a minute.' }),
})

export const newApiKeySchema = apiKeySchema.extend({
  secret: z.string().optional().meta({ description: 'Of kind hmac: shown only now.' }),
  privateKeyPem: z
    .string()
    .optional()
    .meta({ description: 'Of kind rsa, where the pair was made here: shown only now.' }),
})

export const apiKeyPageSchema = z.object({ items: z.array(apiKeySchema), nextCursor: z.string().nullable() })

export const digestSecretAnswerSchema = z.object({
  username: z.string().meta({ description: 'To be spelt exactly so.' }),
  realm: z.string(),
  secret: z.string(),
})
