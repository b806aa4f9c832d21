/**
 * Verifies callers of services, by the schemes whose secrets no service gets: Basic, Digest, signed requests, and
 * key-signed tokens with a password. What works once (Digest counts, signatures) is counted for each service alone, so
 * that none can use up what belongs to another one.
 */
import { createMemo } from '../../shared/platform/cache/memo.ts'
import type { HttpRequest } from '../../shared/platform/http/request.ts'
import { createAudience } from '../../shared/protocol/authentication/audience.ts'
import { type Caller, createAuthentication } from '../../shared/protocol/authentication/authenticate.ts'
import { createBasicScheme } from '../../shared/protocol/authentication/basic/basic.ts'
import { createDigestCounts } from '../../shared/protocol/authentication/digest/digest-counts.ts'
import { createDigestNonces } from '../../shared/protocol/authentication/digest/digest-nonce.ts'
import type { Attempt, LoginThrottle } from '../../shared/protocol/authentication/login-throttle.ts'
import type { Scheme, SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import {
  createUsedSignatures,
  type UseSignature,
} from '../../shared/protocol/authentication/signed-request/used-signatures.ts'
import type { PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import { verifyBasic } from '../logins/verify-password.ts'
import { ownResourceServer } from '../principals/rights.ts'
import type { KnownService } from '../services/service-secrets.ts'
import type { AuthParts, AuthSettings } from './parts.ts'
import { createDigest, createKeySigned, createSignedRequests } from './schemes.ts'

/** Schemes of one service for one origin, and the audience and secrets that they were made with. */
interface SchemesAtService {
  readonly schemes: readonly Scheme[]
  readonly madeWith: string
}

/** The throttle for what this service reports. */
function countedFor<Throttle extends LoginThrottle>(id: string, throttle: Throttle): Throttle {
  const counted = (given: Attempt): Attempt => ({ ...given, service: id })
  return {
    ...throttle,
    attempt: (given, check) => throttle.attempt(counted(given), check),
    judge: (given, isRight) => throttle.judge(counted(given), isRight),
    noteTry: (given) => throttle.noteTry(counted(given)),
  }
}

/** Services have one origin each, as a rule. */
const remembered = { maxEntries: 2_000, maxBytes: 16_000_000 }

/** Creates the verification. */
export function createServiceCallers(config: AuthSettings, services: AuthParts) {
  const { principal, clock } = services
  const used = createUsedSignatures(services, 'auth')
  const counts = createDigestCounts({ ...services, schema: 'auth' })
  const memo = createMemo<SchemesAtService>(remembered)
  /** Uses a signature at this service. */
  const useSignature =
    ({ id }: KnownService): UseSignature =>
    ({ keyId, ...use }) =>
      used({ keyId: `${id}/${keyId}`, ...use })
  const schemesOf = (service: KnownService, origin: string): readonly Scheme[] => {
    const { audience } = service.resourceServer
    const secrets = service.secrets.map(({ secret }) => secret)
    const madeWith = [audience, ...secrets].join()
    const key = `${service.id} ${origin}`
    const known = memo.peek(key)
    if (known?.madeWith === madeWith) return known.schemes
    const counting = { ...services, loginThrottle: countedFor(service.id, services.loginThrottle) }
    const makers: Partial<Record<SchemeName, () => Scheme>> = {
      'key-signed': () => createKeySigned(counting),
      basic: () => createBasicScheme({ verify: (received) => verifyBasic(counting, received) }),
      digest: () => createDigest(counting, { origin, counts, nonces: createDigestNonces({ ...services, secrets }) }),
      'signed-request': () => {
        const place = {
          publicOrigin: origin,
          audience,
          demandsAudience: true,
          ttlSeconds: config.signatureTtlSeconds,
        }
        return createSignedRequests(services, { ...place, use: useSignature(service) })
      },
    }
    const schemes = config.schemes.flatMap((name) => makers[name]?.() ?? [])
    if (known) memo.replace(key, known, undefined)
    return memo.get(key, () => ({ schemes, madeWith })).schemes
  }
  return {
    useSignature,
    /** Verifies the credential of a request at this service. @throws ProblemError for a refusal; Unavailable */
    verifyCaller: async (
      service: KnownService,
      { described, origin }: { described: HttpRequest; origin: string },
    ): Promise<{ readonly caller: Caller; readonly version: number }> => {
      let record: PrincipalRecord | undefined
      const get = async (username: string) => {
        record = await principal(username)
        return record
      }
      // The service has the address bar of its callers: it applies the cross-site rule itself.
      const refuseCrossSite = () => undefined
      const schemes = schemesOf(service, origin)
      const { id, audience: name } = service.resourceServer
      const audience = createAudience(name, { isOfPair: id === ownResourceServer })
      const { authenticate } = createAuthentication({ schemes, audience, principals: { get }, refuseCrossSite, clock })
      const caller = await authenticate(described)
      if (!record) throw new TypeError('a caller without a record is refused')
      return { caller, version: record.version }
    },
  }
}
