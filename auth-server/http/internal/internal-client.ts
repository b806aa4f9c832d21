/**
 * Who asks below `/internal`: the pair, which knows SERVICE_SECRET, or a service with its own secret. A signed request
 * says which one (`shared/protocol/internal-api/requests.ts`); the secret does not travel, so plain HTTP is enough.
 */
import type { Clock } from '../../../shared/platform/clock.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { authorizationOf } from '../../../shared/protocol/authentication/scheme.ts'
import {
  callerOfInternalRequest,
  idOfInternalCredential,
  internalSchemeName,
} from '../../../shared/protocol/internal-api/requests.ts'
import type { AnsweredInternalRequest } from '../../../shared/protocol/internal-api/responses.ts'
import type { KnownService, ProvenService } from '../../services/service-secrets.ts'
import type { Services } from '../../services/services.ts'
import type { UseInternalNonce } from './nonces.ts'
import { nameService, notProven, type ServiceOf } from './service-of.ts'

/** Who asks. */
export interface InternalClient {
  /** Undefined for the pair. */
  readonly proven: ProvenService | undefined
  /** The secret that proved it: secrets in the response are encrypted under it. */
  readonly secret: string
  /** The signed request; undefined for HTTP Basic and Bearer, whose response has no MAC. */
  readonly signed: AnsweredInternalRequest | undefined
}

/** Other parts that tell who asks. */
export interface InternalClientPorts {
  /** All accepted values of SERVICE_SECRET. */
  readonly secrets: readonly string[]
  readonly clock: Clock
  readonly services: Pick<Services, 'known'>
  readonly serviceOf: ServiceOf
  readonly useNonce: UseInternalNonce
}

/** Requires a proof, and a signed request that was not sent before. @throws ProblemError as `ServiceOf`; Unavailable */
export async function requireClient(request: HttpRequest, ports: InternalClientPorts): Promise<InternalClient> {
  const credential = authorizationOf(request, internalSchemeName)
  if (credential !== undefined) return requireSigner(request, credential, ports)
  const proven = await ports.serviceOf(request)
  return { proven, secret: proven.secret, signed: undefined }
}

/** No body is read for an unknown service. */
async function requireSigner(
  request: HttpRequest,
  credential: string,
  ports: InternalClientPorts,
): Promise<InternalClient> {
  const id = idOfInternalCredential(credential)
  const service = id === undefined ? undefined : await ports.services.known(id)
  if (id !== undefined && !service) throw notProven(challenges)
  const secrets = service ? service.secrets.map(({ secret }) => secret) : ports.secrets
  const body = (await request.readBody()).toString('utf8')
  const target = request.rawQuery === '' ? request.path : `${request.path}?${request.rawQuery}`
  const signed = { method: request.method, target, body }
  const caller = callerOfInternalRequest(signed, credential, { secrets, clock: ports.clock })
  if (!caller) throw notProven(challenges)
  const { secret, nonce, time } = caller
  if (!(await ports.useNonce({ nonce, time, service: service?.id }))) throw notProven(challenges)
  if (!service) request.caller = dealServer
  const proven = service && nameService(request, provenWith(service, secret))
  return { proven, secret, signed: { secret, nonce } }
}

/** The pair in log lines. */
const dealServer = { scheme: 'service' } as const

const challenges = ['Keyhold-Internal']

const provenWith = (service: KnownService, secret: string): ProvenService => ({
  service,
  secret,
  until: service.secrets.find((one) => one.secret === secret)?.until ?? null,
})
