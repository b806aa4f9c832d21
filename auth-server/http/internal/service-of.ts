/**
 * Which service a request is of, where other programs than a follower of the feed ask too: HTTP Basic with the id and
 * the secret of the service (RFC 7617), or a token that it got with them (RFC 6750). The secret itself travels, so the
 * connection must be secure.
 */
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { parseBasicCredential } from '../../../shared/protocol/authentication/basic/basic-credential.ts'
import { authorizationOf, realm } from '../../../shared/protocol/authentication/scheme.ts'
import type { ProvenService } from '../../services/service-secrets.ts'
import type { Services } from '../../services/services.ts'

/**
 * The service that a request is of.
 * @throws ProblemError `insecure-transport`, `several-credentials`, `unauthenticated`; Unavailable
 */
export type ServiceOf = (request: HttpRequest) => Promise<ProvenService>

/** Creates the function. */
export function createServiceOf({ services }: { readonly services: Services }): ServiceOf {
  return async function serviceOf(request) {
    requireSecureTransport(request.peer)
    if (request.headerLines('authorization').length > 1)
      throw new ProblemError('several-credentials', 'Send exactly one Authorization header.')
    const token = authorizationOf(request, 'bearer')
    const basic = parseBasicCredential(authorizationOf(request, 'basic') ?? '')
    const found =
      token === undefined
        ? basic && (await services.bySecret(basic.username, basic.password))
        : await services.byToken(token)
    if (found) return nameService(request, found)
    throw notProven(
      token === undefined ? [basicChallenge, bearerChallenge] : [`${bearerChallenge}, error="invalid_token"`],
    )
  }
}

/** Names the service in log lines and metrics. */
export function nameService(request: HttpRequest, proven: ProvenService): ProvenService {
  request.caller = { serviceId: proven.service.id, scheme: 'service' }
  return proven
}

const basicChallenge = `Basic realm="${realm}", charset="UTF-8"`
const bearerChallenge = `Bearer realm="${realm}"`

/** The refusal of a request that no service has proved, with these challenges. */
export const notProven = (challenges: readonly string[]) =>
  new ProblemError('unauthenticated', 'This route is for services that prove themselves.', {
    headers: { 'www-authenticate': challenges },
    members: { schemes: [] },
  })
