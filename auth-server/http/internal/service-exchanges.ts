/** Endpoints for services alone: their description, one request to verify, and used signatures. */

import type { Clock } from '../../../shared/platform/clock.ts'
import { openInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import { maxSignatureTtlSeconds } from '../../../shared/protocol/authentication/signature-parameters.ts'
import type { UseSignature } from '../../../shared/protocol/authentication/signed-request/used-signatures.ts'
import { clockToleranceSeconds } from '../../../shared/protocol/clock-tolerance.ts'
import {
  internalApiVersion,
  type ServiceDescription,
  serviceExchange,
} from '../../../shared/protocol/internal-api/service.ts'
import { usedSignaturesExchange } from '../../../shared/protocol/internal-api/used-signatures.ts'
import {
  type ReceivedRequest,
  type RequestVerdict,
  receivedRequestSchema,
  verifyRequestExchange,
  verifyRequestPurpose,
} from '../../../shared/protocol/internal-api/verify-request.ts'
import type { Catalogue } from '../../../shared/protocol/principal/catalogue.ts'
import { narrowRights } from '../../services/narrow.ts'
import type { KnownService } from '../../services/service-secrets.ts'
import { defineInternalEndpoint, type InternalEndpoint, serviceIn } from './endpoint.ts'
import type { InternalClient } from './internal-client.ts'
import { type DescribedRequest, readDescribedRequest } from './received-request.ts'

/** A caller of a service, and the version of the principal record that it was accepted by. */
export interface VerifiedCaller {
  readonly caller: Caller
  readonly version: number
}

/** Services that these endpoints use. */
export interface ServiceEndpointPorts {
  readonly clock: Clock
  /** What the auth server tells each service of itself. */
  describe(): Omit<ServiceDescription, 'id' | 'version' | 'resourceServer'>
  /** Verifies the credential of a request at this service. @throws ProblemError for a refusal; Unavailable */
  verifyCaller(service: KnownService, request: DescribedRequest): Promise<VerifiedCaller>
  /** Uses a signature at this service. */
  useSignature(service: KnownService): UseSignature
  /** The catalogue as services of this resource server see it. @throws Unavailable */
  sightOf(resourceServer: string): Promise<Catalogue>
  /** The status of a problem. */
  statusOf(code: string): number
}

/** The endpoints. */
export const serviceEndpoints = (ports: ServiceEndpointPorts): InternalEndpoint[] => [
  defineInternalEndpoint(serviceExchange, async (input) => {
    const { id, resourceServer } = serviceIn(input).service
    return { body: { version: internalApiVersion, id, resourceServer, ...ports.describe() } }
  }),
  defineInternalEndpoint(verifyRequestExchange, async (input) => {
    const { service } = serviceIn(input)
    const request = readDescribedRequest(receivedIn(input.body, input.client), input.request)
    return { body: await verdictOn(service, request, ports) }
  }),
  defineInternalEndpoint(usedSignaturesExchange, async (input) => {
    const { apiKey: keyId, signature: digest, expiresAt } = input.body
    requireBounded(expiresAt, ports.clock)
    const usedAt = await ports.useSignature(serviceIn(input).service)({ keyId, digest, expiresAt })
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
  const received = receivedRequestSchema.safeParse(opened === undefined ? undefined : parseJson(opened))
  if (received.success) return received.data
  throw new ProblemError('invalid-body', 'The request is not sealed as it should be, or lacks something.')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function verdictOn(
  service: KnownService,
  request: DescribedRequest,
  ports: ServiceEndpointPorts,
): Promise<RequestVerdict> {
  try {
    const { caller, version } = await ports.verifyCaller(service, request)
    const sight = await ports.sightOf(service.resourceServer.id)
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
    return { refusal: { status: ports.statusOf(code), code, detail, members, headers: lines } }
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
  throw new ProblemError('invalid-value', 'Some values cannot be accepted.', {
    members: { errors: [{ pointer: '/expiresAt', code: 'too-late', message }] },
  })
}
