/**
 * The authentication of a service that follows an auth server: composes the enabled schemes with what is followed. They
 * use memory first, then the cache, then the auth server. No credential is ever stored on disk.
 */
import {
  rememberAwaitedTokens,
  rememberVerifiedTokens,
} from '../../../shared/protocol/access-token/verified-token-cache.ts'
import { createAccessTokenVerifier } from '../../../shared/protocol/access-token/verify-access-token.ts'
import type { Audience } from '../../../shared/protocol/authentication/audience.ts'
import {
  type Authentication,
  type AuthenticationPorts,
  createAuthentication,
} from '../../../shared/protocol/authentication/authenticate.ts'
import { createBasicScheme } from '../../../shared/protocol/authentication/basic/basic.ts'
import {
  type CachedPasswordsOptions,
  cachePasswords,
} from '../../../shared/protocol/authentication/basic/cached-passwords.ts'
import { createBearerScheme } from '../../../shared/protocol/authentication/bearer/bearer.ts'
import {
  createKeySignedScheme,
  type TokenPasswords,
} from '../../../shared/protocol/authentication/key-signed/key-signed.ts'
import type { Scheme, SchemeName } from '../../../shared/protocol/authentication/scheme.ts'
import { createSessionScheme } from '../../../shared/protocol/authentication/session/session.ts'
import {
  createSessionCookie,
  type SessionCookieSettings,
} from '../../../shared/protocol/authentication/session/session-cookie.ts'
import {
  createSignedRequestScheme,
  type SignedRequestPorts,
} from '../../../shared/protocol/authentication/signed-request/signed-request.ts'
import { createKeySignedVerifier } from '../../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import type { ServiceSystems } from '../auth-client/service-systems.ts'
import { createCachedSessions } from '../credentials/cached-sessions.ts'
import type { Followed, FollowSettings } from './follow-auth-server.ts'

/** The settings that authentication uses. */
export interface ServiceSettings extends FollowSettings, SessionCookieSettings {
  readonly issuer: string
  /** The audience of the service: credentials for another one are refused. */
  readonly audience: Audience
  /** The origin that clients of the service see. */
  readonly publicOrigin: string
  /** The URL of the metadata of the service as a protected resource, where it has one (RFC 9728). */
  readonly resourceMetadata?: string
  readonly signatureTtlSeconds: number
  readonly sessionIdleTtlSeconds: number
}

/** What each service has of its own for its schemes. Each is made when its scheme is enabled. */
export interface OwnChecks {
  /** The check of passwords that memory does not know, and the limits of guessing. */
  passwords(): Pick<CachedPasswordsOptions, 'verify' | 'loginThrottle'>
  tokenPasswords(): TokenPasswords
  signatures(): Pick<SignedRequestPorts, 'use' | 'verifyElsewhere' | 'demandsAudience'>
  digest(): Scheme
}

interface ServiceParts
  extends ServiceSystems,
    Pick<AuthenticationPorts, 'refuseCrossSite' | 'handsOnReusedSignatures' | 'audienceClaims' | 'observe'> {
  readonly followed: Followed
  readonly own: OwnChecks
}

/** The authentication of a service, and the auth server that it follows. */
export interface ServiceAuthentication extends Authentication, Followed {}

/** Makes the authentication with the enabled schemes. It answers once it is started. */
export function createServiceAuthentication(settings: ServiceSettings, parts: ServiceParts): ServiceAuthentication {
  const { followed, clock, refuseCrossSite, handsOnReusedSignatures = false, audienceClaims, observe } = parts
  const makers = schemeMakers(settings, parts)
  const authentication = createAuthentication({
    schemes: settings.schemes.map((name) => makers[name]()),
    audience: settings.audience,
    principals: followed.principals,
    refuseCrossSite,
    clock,
    handsOnReusedSignatures,
    ...(audienceClaims && { audienceClaims }),
    ...(observe && { observe }),
  })
  return { ...followed, ...authentication }
}

const schemeMakers = (settings: ServiceSettings, parts: ServiceParts): Record<SchemeName, () => Scheme> => ({
  bearer: () => bearer(settings, parts),
  'key-signed': () => keySigned(parts),
  basic: () => {
    const { clock, followed, own } = parts
    return createBasicScheme(cachePasswords({ clock, principals: followed.principals, ...own.passwords() }))
  },
  session: () => session(settings, parts),
  'signed-request': () => signedRequest(settings, parts),
  digest: () => parts.own.digest(),
})

function bearer({ issuer, resourceMetadata }: ServiceSettings, { followed: { keys }, clock }: ServiceParts): Scheme {
  const verify = createAccessTokenVerifier({ keys: keys.jwt, issuer, clock })
  return createBearerScheme({
    verify: rememberAwaitedTokens(verify, { keys: keys.jwt, clock }),
    findKey: keys.jwt.findKey,
    ...(resourceMetadata !== undefined && { resourceMetadata }),
  })
}

function keySigned({ followed: { keys }, clock, own }: ServiceParts): Scheme {
  const verify = createKeySignedVerifier({ keys: keys.keySigned, clock })
  return createKeySignedScheme({
    verify: rememberVerifiedTokens(verify, { keys: keys.keySigned, clock }),
    findKey: keys.keySigned.findKey,
    passwords: own.tokenPasswords(),
  })
}

function session({ publicOrigins, sessionIdleTtlSeconds }: ServiceSettings, parts: ServiceParts): Scheme {
  return createSessionScheme({
    cookie: createSessionCookie({ publicOrigins }),
    sessions: createCachedSessions({ ...parts, ...parts.followed }, sessionIdleTtlSeconds),
  })
}

const signedRequest = (
  { publicOrigin, audience, signatureTtlSeconds }: ServiceSettings,
  { followed: { apiKeys }, clock, own }: ServiceParts,
): Scheme =>
  createSignedRequestScheme({
    findKey: apiKeys.find,
    noteUse: apiKeys.noteUse,
    ...own.signatures(),
    clock,
    ttlSeconds: signatureTtlSeconds,
    publicOrigin,
    audience: audience.name,
  })
