/**
 * One request of a caller with a credential that a service must not have what to check with: Basic, Digest, a
 * key-signed token with a password, or a signature by HMAC. The answer is good for this request at this service. RSA
 * signatures are taken too.
 */
import * as z from 'zod'
import { schemeNames } from '../authentication/scheme.ts'
import { defineExchange } from './exchange.ts'

/** What the request is sealed for (`internal-sealing.ts`). */
export const verifyRequestPurpose = 'verify-request'

/** The header fields of a request take no more, in characters: more than a server of HTTP reads. */
const maxHeadersLength = 16_384

const headersSchema = z
  .record(z.string().regex(/^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/), z.array(z.string()).max(100))
  .refine((headers) => JSON.stringify(headers).length <= maxHeadersLength)

/** A request as the service received it. */
export const receivedRequestSchema = z.strictObject({
  method: z.string().regex(/^[A-Z-]{1,40}$/),
  /** The public origin of the service, path and query, each as on the request line: nothing is normalized. */
  url: z.string().max(16_384),
  /**
   * The lines of each header field that the credential needs, by its name in lower case: `authorization`, `signature`,
   * `signature-input`, and each field that a signature covers.
   */
  headers: headersSchema,
  /**
   * True when the request has a body. The body does not travel: the service compares `bodySha256` in the query and
   * `Content-Digest` with it.
   */
  hasBody: z.boolean(),
  /** The canonical address of the client: failures count for it. */
  clientAddress: z.union([z.ipv4(), z.ipv6()]),
})

/** A request as the service received it. */
export type ReceivedRequest = z.infer<typeof receivedRequestSchema>

const headerLines = z.record(z.string(), z.array(z.string()))

const acceptedSchema = z.object({
  scheme: z.enum(schemeNames),
  /** As created. */
  username: z.string(),
  userId: z.string(),
  /** The version of the principal record that the answer goes by. */
  version: z.number().int(),
  /** The rights of this request among those of the service's resource server. */
  rights: z.array(z.string()),
  /** The members of `VerifiedCredential`; null for undefined. */
  credential: z.object({
    generation: z.number().int().nullable(),
    loginId: z.string().nullable(),
    /** In milliseconds. */
    expiresAt: z.number().nullable(),
    /** Those that the credential is narrowed to, of the service's resource server. */
    rights: z.array(z.string()).nullable(),
    carriesPassword: z.boolean(),
  }),
  /** Lines for the service's response to the caller, such as `authentication-info`. */
  headers: headerLines,
})

const refusalSchema = z.object({
  /** As the problem catalogue has it. */
  status: z.number().int(),
  code: z.string(),
  detail: z.string(),
  /** Further members of the problem document. */
  members: z.record(z.string(), z.unknown()),
  /** Lines for the service's response, such as `www-authenticate` with challenges, and `retry-after`. */
  headers: headerLines,
})

/** What the auth server answers about a request. */
export type RequestVerdict = { accepted: z.infer<typeof acceptedSchema> } | { refusal: z.infer<typeof refusalSchema> }

/**
 * Verifies a request. A caller that is refused is an answer with status 200: other statuses are about the service.
 * `sealed`: the request as JSON. `request`: not sealed, from services that prove themselves by Basic or Bearer alone:
 * there TLS protects it.
 */
export const verifyRequestExchange = defineExchange({
  method: 'POST',
  path: '/verify-request',
  openTo: 'services',
  requestBody: z.union([
    z.strictObject({ sealed: z.string().max(65_536) }),
    z.strictObject({ request: receivedRequestSchema }),
  ]),
  responseBody: z.union([z.object({ accepted: acceptedSchema }), z.object({ refusal: refusalSchema })]),
})
