/**
 * The authentication of the deal server: composes the enabled schemes with their ports. They use caches first, then the
 * auth server. No credential is ever stored on disk.
 */
import type { Cache } from '../../shared/platform/cache/cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { WithHashingPermit } from '../../shared/platform/crypto/hashing-permits.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { createKnownHistory } from '../../shared/platform/history/history.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import {
  rememberAwaitedTokens,
  rememberVerifiedTokens,
} from '../../shared/protocol/access-token/verified-token-cache.ts'
import { createAccessTokenVerifier } from '../../shared/protocol/access-token/verify-access-token.ts'
import { createAudience } from '../../shared/protocol/authentication/audience.ts'
import {
  type Authentication,
  type AuthenticationPorts,
  createAuthentication,
  type Principals,
} from '../../shared/protocol/authentication/authenticate.ts'
import { createBasicScheme } from '../../shared/protocol/authentication/basic/basic.ts'
import { cachePasswords } from '../../shared/protocol/authentication/basic/cached-passwords.ts'
import { createBearerScheme } from '../../shared/protocol/authentication/bearer/bearer.ts'
import { resourceMetadataUrl } from '../../shared/protocol/authentication/bearer/resource-metadata-url.ts'
import { type CrossSiteSettings, createCrossSiteRule } from '../../shared/protocol/authentication/cross-site.ts'
import { createDigestScheme } from '../../shared/protocol/authentication/digest/digest.ts'
import { createDigestCounts } from '../../shared/protocol/authentication/digest/digest-counts.ts'
import { createDigestNonces } from '../../shared/protocol/authentication/digest/digest-nonce.ts'
import { createKeySignedScheme } from '../../shared/protocol/authentication/key-signed/key-signed.ts'
import { createTokenPasswords } from '../../shared/protocol/authentication/key-signed/key-signed-password.ts'
import type { LoginThrottle } from '../../shared/protocol/authentication/login-throttle.ts'
import type { Scheme, SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { createSessionScheme } from '../../shared/protocol/authentication/session/session.ts'
import { createSessionCookie } from '../../shared/protocol/authentication/session/session-cookie.ts'
import { createSignedRequestScheme } from '../../shared/protocol/authentication/signed-request/signed-request.ts'
import { createUsedSignatures } from '../../shared/protocol/authentication/signed-request/used-signatures.ts'
import { createKeySignedVerifier } from '../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import type { LoginThrottleLimits } from '../../shared/server/login-throttle/attempt-keys.ts'
import { createLoginThrottle } from '../../shared/server/login-throttle/count-attempts.ts'
import { type NoteRefusal, notingRefusals } from '../../shared/server/login-throttle/limit-refusals.ts'
import type { ApiKeyStore } from '../auth-client/api-key-store.ts'
import { askForPasswords } from '../auth-client/ask-for-passwords.ts'
import type { AuthClient } from '../auth-client/auth-client.ts'
import { createCachedSessions } from '../auth-client/cached-sessions.ts'
import { followDigestSecrets } from '../auth-client/digest-secrets.ts'
import type { KeyStores } from '../auth-client/key-stores.ts'
import type { PrincipalFeed } from '../auth-client/principal-feed.ts'

/** The settings that authentication uses. */
export interface DealAuthenticationSettings extends CrossSiteSettings {
  /** The enabled schemes (AUTH_SCHEMES). */
  readonly schemes: readonly SchemeName[]
  readonly issuer: string
  readonly audience: string
  /** The origin that clients see. */
  readonly publicOrigin: string
  readonly signatureTtlSeconds: number
  readonly sessionIdleTtlSeconds: number
  readonly loginFailures: LoginThrottleLimits
}

/** The parts that authentication uses. */
export interface DealAuthenticationPorts {
  readonly database: Database
  readonly cache: Cache
  readonly clock: Clock
  readonly ids: IdSource
  readonly authClient: AuthClient
  readonly keys: KeyStores
  readonly apiKeys: ApiKeyStore
  readonly feed: PrincipalFeed
  readonly principals: Principals
  readonly withPermit: WithHashingPermit
  readonly noteRefusal: NoteRefusal
  /** The current SERVICE_SECRET. */
  readonly serviceSecret: string
  /** All accepted SERVICE_SECRETs. */
  readonly serviceSecrets: readonly string[]
  /** Called with the outcome of every authentication. */
  readonly observe: NonNullable<AuthenticationPorts['observe']>
}

/** Makes the authentication with the enabled schemes. */
export function createDealAuthentication(
  settings: DealAuthenticationSettings,
  ports: DealAuthenticationPorts,
): Authentication {
  const { principals, clock, observe } = ports
  return createAuthentication({
    schemes: enabledSchemes(settings, ports),
    audience: createAudience(settings.audience, { isOfPair: true }),
    principals,
    refuseCrossSite: createCrossSiteRule(settings),
    clock,
    handsOnReusedSignatures: true,
    observe,
  })
}

function enabledSchemes(settings: DealAuthenticationSettings, ports: DealAuthenticationPorts): Scheme[] {
  const { cache, clock, ids, serviceSecrets } = ports
  const loginThrottle = createLoginThrottle({
    cache,
    clock,
    ids,
    limits: settings.loginFailures,
    secrets: serviceSecrets,
  })
  const makers: Partial<Record<SchemeName, () => Scheme>> = {
    bearer: () => bearer(settings, ports),
    'key-signed': () => keySigned(loginThrottle, ports),
    basic: () => basic(loginThrottle, ports),
    session: () => session(settings, ports),
    'signed-request': () => signedRequest(settings, ports),
    digest: () => digest(settings, loginThrottle, ports),
  }
  return settings.schemes.flatMap((name) => makers[name]?.() ?? [])
}

function bearer(
  { issuer, publicOrigin }: DealAuthenticationSettings,
  { keys, clock }: DealAuthenticationPorts,
): Scheme {
  const verify = createAccessTokenVerifier({ keys: keys.jwt, issuer, clock })
  return createBearerScheme({
    verify: rememberAwaitedTokens(verify, { keys: keys.jwt, clock }),
    findKey: keys.jwt.findKey,
    resourceMetadata: resourceMetadataUrl(publicOrigin),
  })
}

function keySigned(
  allGuesses: LoginThrottle,
  { keys, clock, withPermit, noteRefusal }: DealAuthenticationPorts,
): Scheme {
  const verify = createKeySignedVerifier({ keys: keys.keySigned, clock })
  const loginThrottle = notingRefusals(allGuesses, 'key-signed', noteRefusal)
  return createKeySignedScheme({
    verify: rememberVerifiedTokens(verify, { keys: keys.keySigned, clock }),
    findKey: keys.keySigned.findKey,
    passwords: createTokenPasswords({ withPermit, loginThrottle, clock }),
  })
}

/** Basic. The auth server counts the attempts that it verifies; this server counts those that its memory answers. */
function basic(allGuesses: LoginThrottle, ports: DealAuthenticationPorts): Scheme {
  const { authClient, serviceSecret, principals, clock, noteRefusal } = ports
  const loginThrottle = notingRefusals(allGuesses, 'basic', noteRefusal)
  const verify = askForPasswords({ authClient, serviceSecret })
  return createBasicScheme(cachePasswords({ principals, clock, loginThrottle, verify }))
}

function session({ publicOrigins, sessionIdleTtlSeconds }: DealAuthenticationSettings, ports: DealAuthenticationPorts) {
  const { feed, principals, authClient, cache, clock } = ports
  return createSessionScheme({
    cookie: createSessionCookie({ publicOrigins }),
    sessions: createCachedSessions({ feed, principals, authClient, cache, clock, sessionIdleTtlSeconds }),
  })
}

function signedRequest(
  { publicOrigin, signatureTtlSeconds }: DealAuthenticationSettings,
  { apiKeys, database, clock }: DealAuthenticationPorts,
): Scheme {
  return createSignedRequestScheme({
    findKey: apiKeys.find,
    noteUse: apiKeys.noteUse,
    use: createUsedSignatures({ database, clock }, 'deals'),
    clock,
    ttlSeconds: signatureTtlSeconds,
    publicOrigin,
  })
}

function digest(
  { publicOrigin }: DealAuthenticationSettings,
  allGuesses: LoginThrottle,
  ports: DealAuthenticationPorts,
): Scheme {
  const { authClient, principals, clock, ids, cache, database, serviceSecret, serviceSecrets, noteRefusal } = ports
  const history = createKnownHistory(database)
  return createDigestScheme({
    ...followDigestSecrets({ authClient, principals, clock, serviceSecret }),
    nonces: createDigestNonces({ secrets: serviceSecrets, clock, ids, history }),
    counts: createDigestCounts({ cache, database, schema: 'deals', history }),
    loginThrottle: notingRefusals(allGuesses, 'digest', noteRefusal),
    clock,
    origin: publicOrigin,
  })
}
