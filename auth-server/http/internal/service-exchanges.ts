/** Endpoints for services alone: their description, one request to verify, and used signatures. */

import type { Clock } from '../../../shared/platform/clock.ts'
import { openInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import { readStored } from '../../../shared/platform/json.ts'
import { invalidValue } from '../../../shared/platform/problems/check-value.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { maxSignatureTtlSeconds } from '../../../shared/protocol/authentication/signature-parameters.ts'
import { clockToleranceSeconds } from '../../../shared/protocol/clock-tolerance.ts'
import { internalApiVersion, serviceExchange } from '../../../shared/protocol/internal-api/service.ts'
import { usedSignaturesExchange } from '../../../shared/protocol/internal-api/used-signatures.ts'
import {
  type ReceivedRequest,
  type RequestVerdict,
  receivedRequestSchema,
  verifyRequestExchange,
  verifyRequestPurpose,
} from '../../../shared/protocol/internal-api/verify-request.ts'
import { narrowRights } from '../../services/narrow.ts'
import type { KnownService } from '../../services/service-secrets.ts'
import { defineInternalEndpoint, type InternalEndpoint, serviceIn } from './endpoint.ts'
import type { InternalClient } from './internal-client.ts'
import type { InternalServices } from './internal-services.ts'
import { type DescribedRequest, readDescribedRequest } from './received-request.ts'

/** The endpoints. */
export const serviceEndpoints = (services: InternalServices): InternalEndpoint[] => [
  defineInternalEndpoint(serviceExchange, async (input) => {
    const { id, resourceServer } = serviceIn(input).service
    return { body: { version: internalApiVersion, id, resourceServer, ...services.describe() } }
  }),
  defineInternalEndpoint(verifyRequestExchange, async (input) => {
    const { service } = serviceIn(input)
    const request = readDescribedRequest(receivedIn(input.body, input.client), input.request)
    return { body: await verdictOn(service, request, services) }
  }),
  defineInternalEndpoint(usedSignaturesExchange, async (input) => {
    const { apiKey: keyId, signature: digest, expiresAt } = input.body
    requireBounded(expiresAt, services.clock)
    const usedAt = await services.useSignature(serviceIn(input).service)({ keyId, digest, expiresAt })
    return { body: { usedAt: usedAt ?? null } }
  }),
]

/**
 * The request in a body. It must be sealed where the request to this server is signed: then the connection may be open
 * to others. @throws ProblemError `invalid-body`
 */
function receivedIn(
  body: { readonly sealed: string } | { readonly request: ReceivedRequest },
  { proven, signed }: InternalClient,
): ReceivedRequest {
  if ('request' in body) {
    if (!signed) return body.request
    throw new ProblemError('invalid-body', 'A signed request carries the request to verify in the member sealed.')
  }
  const secrets = proven?.service.secrets.map(({ secret }) => secret) ?? []
  const opened = openInternally(body.sealed, { secrets, purpose: verifyRequestPurpose })
  const received = opened === undefined ? undefined : readStored(receivedRequestSchema, opened)
  if (received) return received
  throw new ProblemError('invalid-body', 'The request is not sealed as it should be, or lacks something.')
}

async function verdictOn(
  service: KnownService,
  request: DescribedRequest,
  services: InternalServices,
): Promise<RequestVerdict> {
  try {
    const { caller, version } = await services.verifyCaller(service, request)
    const sight = await services.sightOf(service.resourceServer.id)
    const { username, userId, scheme, credential } = caller
    const { generation = null, loginId = null, expiresAt = null, rights, carriesPassword = false } = credential
    const narrowed = rights === undefined ? null : narrowRights(rights, sight)
    return {
      accepted: {
        scheme,
        username,
        userId,
        version,
        rights: narrowRights(caller.rights, sight),
        credential: { generation, loginId, expiresAt, rights: narrowed, carriesPassword },
        headers: linesOf({}, request.described),
      },
    }
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    const { code, message: detail, members, headers, retryAfterSeconds } = error
    const later = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
    const lines = linesOf({ ...later, ...headers }, request.described)
    return { refusal: { status: services.statusOf(code), code, detail, members, headers: lines } }
  }
}

/** Header fields as lines, with those that the scheme has added to the response. */
function linesOf(fields: HttpResponse['headers'], { addedResponseHeaders }: HttpRequest): Record<string, string[]> {
  const lines: Record<string, string[]> = {}
  for (const [name, value] of Object.entries(fields)) lines[name] = typeof value === 'string' ? [value] : [...value]
  for (const [name, value] of addedResponseHeaders) lines[name] = [...(lines[name] ?? []), value]
  return lines
}

/** The longest time that a signature can be accepted from now on, in milliseconds: it may be made in the future. */
const maxLifeMs = (2 * maxSignatureTtlSeconds + 2 * clockToleranceSeconds) * 1000

/** No signature is remembered longer than one can be good. @throws ProblemError `invalid-value` */
function requireBounded(expiresAt: number, clock: Clock): void {
  if (expiresAt <= clock.now() + maxLifeMs) return
  const message = 'must be within the longest SIGNATURE_TTL from now'
  throw invalidValue([{ pointer: '/expiresAt', code: 'too-late', message }])
}
