import { rememberVerifiedTokens } from '../../shared/protocol/access-token/verified-token-cache.ts'
import { createAudience } from '../../shared/protocol/authentication/audience.ts'
import { type Authentication, createAuthentication } from '../../shared/protocol/authentication/authenticate.ts'
import { createBasicScheme } from '../../shared/protocol/authentication/basic/basic.ts'
import { cachePasswords } from '../../shared/protocol/authentication/basic/cached-passwords.ts'
import { createBearerScheme } from '../../shared/protocol/authentication/bearer/bearer.ts'
import { createCrossSiteRule, trustedOrigins } from '../../shared/protocol/authentication/cross-site.ts'
import { createDigestScheme, type DigestPorts } from '../../shared/protocol/authentication/digest/digest.ts'
import { createDigestCounts } from '../../shared/protocol/authentication/digest/digest-counts.ts'
import { createDigestNonces } from '../../shared/protocol/authentication/digest/digest-nonce.ts'
import { createKeySignedScheme } from '../../shared/protocol/authentication/key-signed/key-signed.ts'
import { createTokenPasswords } from '../../shared/protocol/authentication/key-signed/key-signed-password.ts'
import type { Scheme, SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { createSessionScheme } from '../../shared/protocol/authentication/session/session.ts'
import { createSessionCookie } from '../../shared/protocol/authentication/session/session-cookie.ts'
import { reportUses } from '../../shared/protocol/authentication/signed-request/report-uses.ts'
import {
  createSignedRequestScheme,
  type SignedRequestPorts,
} from '../../shared/protocol/authentication/signed-request/signed-request.ts'
import { createUsedSignatures } from '../../shared/protocol/authentication/signed-request/used-signatures.ts'
import { createKeySignedVerifier } from '../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { notingRefusals } from '../../shared/server/login-throttle/limit-refusals.ts'
import { observeAuthentications } from '../../shared/server/metrics/authentication-metrics.ts'
import { recordRefusals } from '../audit/audit.ts'
import type { KeyRing } from '../key-ring/key-ring.ts'
import type { KeyUse } from '../key-ring/keyring-file.ts'
import { verifyBasic } from '../logins/verify-password.ts'
import type { AuthParts, AuthSettings } from './parts.ts'

/** Creates the authentication of callers by the enabled schemes. */
export const createCallerAuthentication = (config: AuthSettings, services: AuthParts): Authentication =>
  createAuthentication({
    schemes: createAuthSchemes(config, services),
    audience: createAudience(config.audience, { isOfPair: true }),
    audienceClaims: [config.audience, config.publicOrigin],
    principals: { get: services.principal },
    refuseCrossSite: createCrossSiteRule(trustedOrigins(config)),
    clock: services.clock,
    observe: observeAuthentications(services.metrics, 'auth'),
  })

/** The enabled schemes (AUTH_SCHEMES). */
function createAuthSchemes(config: AuthSettings, services: AuthParts): Scheme[] {
  const factories: Partial<Record<SchemeName, () => Scheme>> = {
    bearer: () =>
      createBearerScheme({ verify: services.tokens.verifyAccessToken, findKey: findKeyIn(services.keyRing, 'jwt') }),
    'key-signed': () => createKeySigned(services),
    basic: () => basic(services),
    session: () => createSessionScheme({ cookie: createSessionCookie(config), sessions: services.logins.sessions }),
    'signed-request': () => signedRequest(config, services),
    digest: () => digest(config, services),
  }
  return config.schemes.flatMap((name) => factories[name]?.() ?? [])
}

/** Reads the folder of the key ring again: another auth server may sign with a key that this process has not loaded. */
const findKeyIn = (keyRing: KeyRing, use: KeyUse) => async (kid: string) => {
  await keyRing.reload()
  return keyRing.verificationKeys(use).key(kid) !== undefined
}

const basic = (services: AuthParts): Scheme => {
  const loginThrottle = notingRefusals(services.loginThrottle, 'basic', recordRefusals(services.audit))
  return createBasicScheme(
    cachePasswords({
      ...services,
      principals: {
        get: services.principal,
        onOtherInstance: (listener) => services.publisher.onOtherInstance(listener),
      },
      loginThrottle,
      verify: (received) => verifyBasic(services, received),
    }),
  )
}

/** The scheme of key-signed tokens with the keys of this server. */
export function createKeySigned({ keyRing, hashing: { withPermit }, clock, ...services }: AuthParts): Scheme {
  const keys = keyRing.verificationKeys('key-signed')
  const verify = rememberVerifiedTokens(createKeySignedVerifier({ keys, clock }), { keys, clock })
  const loginThrottle = notingRefusals(services.loginThrottle, 'key-signed', recordRefusals(services.audit))
  const passwords = createTokenPasswords({ withPermit, loginThrottle, clock })
  return createKeySignedScheme({ verify, findKey: findKeyIn(keyRing, 'key-signed'), passwords })
}

const signedRequest = (config: AuthSettings, services: AuthParts) => {
  const { signatureTtlSeconds: ttlSeconds, publicOrigin, audience } = config
  return createSignedRequests(services, {
    ttlSeconds,
    publicOrigin,
    audience,
    use: createUsedSignatures(services, 'auth'),
  })
}

/** The scheme of signed requests with the API keys of this server, for requests to this origin. */
export const createSignedRequests = (
  { apiKeys, knownKeys, clock, log }: AuthParts,
  place: Pick<SignedRequestPorts, 'ttlSeconds' | 'publicOrigin' | 'audience' | 'demandsAudience' | 'use'>,
): Scheme =>
  createSignedRequestScheme({
    findKey: async (id) => (await knownKeys.find(id))?.signing,
    noteUse: reportUses(apiKeys.noteUse, { clock, log }),
    clock,
    ...place,
  })

function digest({ publicOrigin: origin }: AuthSettings, services: AuthParts): Scheme {
  const counts = createDigestCounts({ ...services, schema: 'auth' })
  return createDigest(services, {
    origin,
    counts,
    nonces: createDigestNonces({ ...services, secrets: services.serviceSecrets }),
  })
}

/** The scheme Digest with the secrets of this server, for requests to this origin. */
export const createDigest = (
  { digestSecrets, loginThrottle, audit, clock }: AuthParts,
  place: Pick<DigestPorts, 'origin' | 'counts' | 'nonces'>,
): Scheme =>
  createDigestScheme({
    find: digestSecrets.find,
    loginThrottle: notingRefusals(loginThrottle, 'digest', recordRefusals(audit)),
    clock,
    ...place,
  })
