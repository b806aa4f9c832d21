import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { VerifiedCredential } from '../../../shared/protocol/authentication/scheme.ts'
import { type ReceivedRequest, receivedRequestSchema } from '../../../shared/protocol/internal-api/verify-request.ts'
import type { Accepted } from './ask-about-requests.ts'

/** What a description has beside the request itself. */
interface Described {
  /** The header fields that the credential needs, in lower case. */
  readonly fields: readonly string[]
  /** The origin that clients of the service see. */
  readonly publicOrigin: string
  readonly hasBody: boolean
}

/**
 * Describes a request for the auth server.
 * @throws ProblemError `malformed-request` for one that is longer than any that it takes, or has another form
 */
export function describeRequest(request: HttpRequest, { fields, publicOrigin, hasBody }: Described): ReceivedRequest {
  const { method, path, rawQuery, peer } = request
  const lines = fields.map((name) => [name, request.headerLines(name)] as const).filter(([, found]) => found.length > 0)
  const described = receivedRequestSchema.safeParse({
    method,
    url: `${publicOrigin}${path}${rawQuery === '' ? '' : `?${rawQuery}`}`,
    headers: Object.fromEntries(lines),
    hasBody,
    clientAddress: peer.address,
  })
  if (described.success && targetForm.test(described.data.url)) return described.data
  throw new ProblemError(
    'malformed-request',
    'The method, the target or the credential of the request is too long, or has another form.',
  )
}

/** What the auth server takes as a URL: printable ASCII without a fragment. */
const targetForm = /^[!"$-~]*$/

/** The credential that the auth server has accepted. Adds the header fields that the response needs. */
export function credentialOf({ username, credential, headers }: Accepted, request: HttpRequest): VerifiedCredential {
  for (const [name, lines] of Object.entries(headers)) {
    for (const line of lines) request.addResponseHeader(name, line)
  }
  const { generation, loginId, expiresAt, rights, carriesPassword } = credential
  return {
    username,
    generation: generation ?? undefined,
    loginId: loginId ?? undefined,
    expiresAt: expiresAt ?? undefined,
    rights: rights ?? undefined,
    carriesPassword,
    // The auth server verifies schemes that are good at every service.
    audience: undefined,
  }
}
