/** Common parts of the endpoints below `/oauth`: form requests, responses of RFC 6749 §5, clients as callers. */
import * as z from 'zod'
import { formType, readForm } from '../../../shared/platform/http/content/form-body.ts'
import type { DescribedResponse } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { jsonSchemaOf, ref } from '../../../shared/platform/openapi/json-schema.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { MemberError } from '../../../shared/platform/problems/problem-document.ts'
import { type BodyReader, component, type OwnCredential } from '../../../shared/server/endpoints/endpoint.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { responseToRefusal } from './oauth-responses.ts'

/** The parameters of a request. A parameter without a value counts as left out (RFC 6749 §3.2). */
export interface OAuthForm {
  get(name: string): string | undefined
  /** @throws OAuthError `invalid_request` when the parameter is missing */
  required(name: string): string
}

/** A parameter of a form, for the documentation. */
export const text = z.string().optional()

const clientMembers = {
  client_id: text.meta({ description: 'The id of an API key or a service, or `keyhold`.' }),
  client_secret: text,
  client_assertion: text.meta({ description: 'RFC 7523 §2.2, signed with RS256.' }),
  client_assertion_type: text.meta({ enum: ['urn:ietf:params:oauth:client-assertion-type:jwt-bearer'] }),
}

/** The body of an endpoint: these members, and the members that authenticate a client. */
export const oauthBody = (members: z.ZodRawShape): BodyReader<OAuthForm> => ({
  read: readOAuthForm,
  describe: () => ({
    schema: jsonSchemaOf(z.object({ ...members, ...clientMembers })),
    required: true,
    mediaTypes: [formType],
  }),
})

/** The credential of a client, in the form or in a header. `handle` checks it (`read-client-credentials.ts`). */
export const client: OwnCredential<undefined> = {
  kind: 'client',
  find: () => undefined,
  refusal: responseToRefusal,
  problems: [],
  security: [],
}

/** Reads the form of a request. @throws OAuthError `invalid_request`; `invalid_target` for two resources */
export async function readOAuthForm(request: HttpRequest): Promise<OAuthForm> {
  // URLs end up in logs (RFC 6749 §2.3.1).
  if ([...request.query.keys()].some((name) => !request.isCredentialParameter(name))) {
    throw new OAuthError('invalid_request', 'Send all parameters in the body, none in the URL.')
  }
  const fields = await readForm(request).catch((error: unknown) => {
    throw error instanceof ProblemError ? asOAuthError(error) : error
  })
  const get = (name: string) => fields.get(name) || undefined
  return {
    get,
    required: (name) => {
      const value = get(name)
      if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing.`)
      return value
    },
  }
}

/** The refusal of a form in the words of OAuth. `resource` may occur twice (RFC 8707 §2), but a token is for one. */
function asOAuthError(error: ProblemError): ProblemError {
  if (!['invalid-body', 'unsupported-media-type'].includes(error.code)) return error
  const [first] = (error.members.errors ?? []) as readonly MemberError[]
  return new OAuthError(first?.pointer === '/resource' ? 'invalid_target' : 'invalid_request', error.message)
}

/** The form of refusals (RFC 6749 §5.2). */
export const oauthError = component(
  'OAuthError',
  z.object({ error: z.string(), error_description: z.string() }).meta({ description: 'RFC 6749 §5.2.' }),
)

const error = (description: string, headers: readonly string[] = []): DescribedResponse => ({
  description,
  schema: ref(oauthError.name),
  headers,
})

/** Common members of all these endpoints. */
export const oauthDefaults = {
  method: 'POST',
  tag: 'tokens',
  status: 200,
  otherResponses: {
    400: error('`error` says what is wrong.', ['WWW-Authenticate']),
    401: error('`invalid_client`: the client did not authenticate; `invalid_token`.', ['WWW-Authenticate']),
    403: error('Credentials are accepted over HTTPS only.'),
    413: error('The body is too large.'),
    429: error('Too many failed attempts.', ['Retry-After']),
    503: error('Something this server depends on does not answer.', ['Retry-After']),
  },
} as const
