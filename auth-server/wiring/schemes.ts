/** Authentication of callers by the auth server: the six schemes on its own database, and the cross-site rule. */
import type { Cache } from '../../shared/platform/cache/cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import { createKnownHistory } from '../../shared/platform/history/history.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import type { Metrics } from '../../shared/platform/metrics/metrics.ts'
import { rememberVerifiedTokens } from '../../shared/protocol/access-token/verified-token-cache.ts'
import { createAudience } from '../../shared/protocol/authentication/audience.ts'
import { type Authentication, createAuthentication } from '../../shared/protocol/authentication/authenticate.ts'
import { createBasicScheme } from '../../shared/protocol/authentication/basic/basic.ts'
import { cachePasswords } from '../../shared/protocol/authentication/basic/cached-passwords.ts'
import { createBearerScheme } from '../../shared/protocol/authentication/bearer/bearer.ts'
import {
  type CrossSiteSettings,
  createCrossSiteRule,
  trustedOrigins,
} from '../../shared/protocol/authentication/cross-site.ts'
import { createDigestScheme, type DigestPorts } from '../../shared/protocol/authentication/digest/digest.ts'
import { createDigestCounts } from '../../shared/protocol/authentication/digest/digest-counts.ts'
import { createDigestNonces } from '../../shared/protocol/authentication/digest/digest-nonce.ts'
import { createKeySignedScheme } from '../../shared/protocol/authentication/key-signed/key-signed.ts'
import { createTokenPasswords } from '../../shared/protocol/authentication/key-signed/key-signed-password.ts'
import type { Scheme, SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { createSessionScheme, type Sessions } from '../../shared/protocol/authentication/session/session.ts'
import { createSessionCookie } from '../../shared/protocol/authentication/session/session-cookie.ts'
import { reportUses } from '../../shared/protocol/authentication/signed-request/report-uses.ts'
import {
  createSignedRequestScheme,
  type SignedRequestPorts,
} from '../../shared/protocol/authentication/signed-request/signed-request.ts'
import { signingKeyOf } from '../../shared/protocol/authentication/signed-request/signing-key.ts'
import { createUsedSignatures } from '../../shared/protocol/authentication/signed-request/used-signatures.ts'
import { createKeySignedVerifier } from '../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import type { PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import { notingRefusals } from '../../shared/server/login-throttle/limit-refusals.ts'
import { observeAuthentications } from '../../shared/server/metrics/authentication-metrics.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import { recordRefusals } from '../audit/audit.ts'
import type { KeyRing } from '../key-ring/key-ring.ts'
import type { KeyUse } from '../key-ring/keyring-file.ts'
import { type VerifyBasicPorts, verifyBasic } from '../logins/verify-password.ts'
import type { PasswordHashing } from '../passwords/password-hashing.ts'
import type { Tokens } from '../tokens/create-tokens.ts'
import type { DigestSecrets } from '../users/digest-secrets.ts'

/** The settings that the schemes use. */
export interface AuthSchemeSettings extends CrossSiteSettings {
  /** The enabled schemes (AUTH_SCHEMES). */
  readonly schemes: readonly SchemeName[]
  /** AUDIENCE. */
  readonly audience: string
  readonly publicOrigin: string
  readonly signatureTtlSeconds: number
}

/** Other parts that the schemes use. */
export interface AuthSchemePorts extends VerifyBasicPorts {
  readonly clock: Clock
  readonly principal: (username: string) => Promise<PrincipalRecord | undefined>
  /** Tells when the database became another instance. */
  readonly publisher: { onOtherInstance(listener: () => void): void }
  readonly logins: { readonly sessions: Sessions }
  readonly tokens: Pick<Tokens, 'verifyAccessToken'>
  readonly keyRing: Pick<KeyRing, 'verificationKeys' | 'reload'>
  readonly hashing: PasswordHashing
  readonly apiKeys: Pick<ApiKeys, 'material' | 'noteUse'>
  readonly log: Pick<Log, 'debug'>
  readonly cache: Cache
  readonly ids: IdSource
  readonly digestSecrets: Pick<DigestSecrets, 'find'>
  readonly metrics: Metrics
  /** All accepted values of SERVICE_SECRET. */
  readonly serviceSecrets: readonly string[]
}

/** Creates the authentication of callers by the enabled schemes. */
export const createCallerAuthentication = (config: AuthSchemeSettings, ports: AuthSchemePorts): Authentication =>
  createAuthentication({
    schemes: createAuthSchemes(config, ports),
    audience: createAudience(config.audience, { isOfPair: true }),
    audienceClaims: [config.audience, config.publicOrigin],
    principals: { get: ports.principal },
    refuseCrossSite: createCrossSiteRule(trustedOrigins(config)),
    clock: ports.clock,
    observe: observeAuthentications(ports.metrics, 'auth'),
  })

/** The enabled schemes (AUTH_SCHEMES). */
function createAuthSchemes(config: AuthSchemeSettings, ports: AuthSchemePorts): Scheme[] {
  const factories: Partial<Record<SchemeName, () => Scheme>> = {
    bearer: () =>
      createBearerScheme({ verify: ports.tokens.verifyAccessToken, findKey: findKeyIn(ports.keyRing, 'jwt') }),
    'key-signed': () => createKeySigned(ports),
    basic: () => basic(ports),
    session: () => createSessionScheme({ cookie: createSessionCookie(config), sessions: ports.logins.sessions }),
    'signed-request': () => signedRequest(config, ports),
    digest: () => digest(config, ports),
  }
  return config.schemes.flatMap((name) => factories[name]?.() ?? [])
}

/** Reads the folder of the key ring again: another auth server may sign with a key that this process has not loaded. */
const findKeyIn = (keyRing: AuthSchemePorts['keyRing'], use: KeyUse) => async (kid: string) => {
  await keyRing.reload()
  return keyRing.verificationKeys(use).key(kid) !== undefined
}

const basic = (ports: AuthSchemePorts): Scheme => {
  const loginThrottle = notingRefusals(ports.loginThrottle, 'basic', recordRefusals(ports.audit))
  return createBasicScheme(
    cachePasswords({
      ...ports,
      principals: { get: ports.principal, onOtherInstance: (listener) => ports.publisher.onOtherInstance(listener) },
      loginThrottle,
      verify: (received) => verifyBasic(ports, received),
    }),
  )
}

/** The scheme of key-signed tokens with the keys of this server. */
export function createKeySigned({
  keyRing,
  hashing: { withPermit },
  clock,
  ...ports
}: Pick<AuthSchemePorts, 'keyRing' | 'hashing' | 'clock' | 'loginThrottle' | 'audit'>): Scheme {
  const keys = keyRing.verificationKeys('key-signed')
  const verify = rememberVerifiedTokens(createKeySignedVerifier({ keys, clock }), { keys, clock })
  const loginThrottle = notingRefusals(ports.loginThrottle, 'key-signed', recordRefusals(ports.audit))
  const passwords = createTokenPasswords({ withPermit, loginThrottle, clock })
  return createKeySignedScheme({ verify, findKey: findKeyIn(keyRing, 'key-signed'), passwords })
}

const signedRequest = (config: AuthSchemeSettings, ports: AuthSchemePorts) => {
  const { signatureTtlSeconds: ttlSeconds, publicOrigin, audience } = config
  return createSignedRequests(ports, { ttlSeconds, publicOrigin, audience, use: createUsedSignatures(ports, 'auth') })
}

/** The scheme of signed requests with the API keys of this server, for requests to this origin. */
export const createSignedRequests = (
  { apiKeys, clock, log }: Pick<AuthSchemePorts, 'apiKeys' | 'clock' | 'log'>,
  place: Pick<SignedRequestPorts, 'ttlSeconds' | 'publicOrigin' | 'audience' | 'demandsAudience' | 'use'>,
): Scheme =>
  createSignedRequestScheme({
    findKey: async (id) => {
      const material = await apiKeys.material(id)
      return material && signingKeyOf(material)
    },
    noteUse: reportUses(apiKeys.noteUse, { clock, log }),
    clock,
    ...place,
  })

function digest({ publicOrigin: origin }: AuthSchemeSettings, ports: AuthSchemePorts): Scheme {
  const history = createKnownHistory(ports.database)
  const counts = createDigestCounts({ ...ports, schema: 'auth', history })
  return createDigest(ports, {
    origin,
    counts,
    nonces: createDigestNonces({ ...ports, secrets: ports.serviceSecrets, history }),
  })
}

/** The scheme Digest with the secrets of this server, for requests to this origin. */
export const createDigest = (
  {
    digestSecrets,
    loginThrottle,
    audit,
    clock,
  }: Pick<AuthSchemePorts, 'digestSecrets' | 'loginThrottle' | 'audit' | 'clock'>,
  place: Pick<DigestPorts, 'origin' | 'counts' | 'nonces'>,
): Scheme =>
  createDigestScheme({
    find: digestSecrets.find,
    loginThrottle: notingRefusals(loginThrottle, 'digest', recordRefusals(audit)),
    clock,
    ...place,
  })
