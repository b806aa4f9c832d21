import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { authorizationOf } from '../../../shared/protocol/authentication/scheme.ts'
import {
  callerOfInternalRequest,
  idOfInternalCredential,
  internalSchemeName,
} from '../../../shared/protocol/internal-api/requests.ts'
import type { AnsweredInternalRequest } from '../../../shared/protocol/internal-api/responses.ts'
import type { KnownService, ProvenService } from '../../services/service-secrets.ts'
import type { InternalServices } from './internal-services.ts'
import { nameService, notProven } from './service-of.ts'

/** Who asks. */
export interface InternalClient {
  /** Undefined for the pair. */
  readonly proven: ProvenService | undefined
  /** The secret that proved it: secrets in the response are encrypted under it. */
  readonly secret: string
  /** The signed request; undefined for HTTP Basic and Bearer, whose response has no MAC. */
  readonly signed: AnsweredInternalRequest | undefined
}

/** Requires a proof, and a signed request that was not sent before. @throws ProblemError as `ServiceOf`; Unavailable */
export async function requireClient(request: HttpRequest, services: InternalServices): Promise<InternalClient> {
  const credential = authorizationOf(request, internalSchemeName)
  if (credential !== undefined) return requireSigner(request, credential, services)
  const proven = await services.serviceOf(request)
  return { proven, secret: proven.secret, signed: undefined }
}

/** No body is read for an unknown service. */
async function requireSigner(
  request: HttpRequest,
  credential: string,
  services: InternalServices,
): Promise<InternalClient> {
  const id = idOfInternalCredential(credential)
  const service = id === undefined ? undefined : await services.services.known(id)
  if (id !== undefined && !service) throw notProven(challenges)
  const secrets = service ? service.secrets.map(({ secret }) => secret) : services.serviceSecrets
  const body = (await request.readBody()).toString('utf8')
  const target = request.rawQuery === '' ? request.path : `${request.path}?${request.rawQuery}`
  const signed = { method: request.method, target, body }
  const caller = callerOfInternalRequest(signed, credential, { secrets, clock: services.clock })
  if (!caller) throw notProven(challenges)
  const { secret, nonce, time } = caller
  if (!(await services.useNonce({ nonce, time, service: service?.id }))) throw notProven(challenges)
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
