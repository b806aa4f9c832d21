/**
 * The authentication of the deal server: that of a service which follows the auth server, with the parts that the deal
 * server has of its own. It shares a cache with other servers, and keeps used signatures and Digest counts in its
 * database.
 */

import type { WithHashingPermit } from '../../shared/platform/crypto/hashing-permits.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { createKnownHistory } from '../../shared/platform/history/history.ts'
import { createAudience } from '../../shared/protocol/authentication/audience.ts'
import type { AuthenticationPorts } from '../../shared/protocol/authentication/authenticate.ts'
import { resourceMetadataUrl } from '../../shared/protocol/authentication/bearer/resource-metadata-url.ts'
import {
  type CrossSiteSettings,
  createCrossSiteRule,
  trustedOrigins,
} from '../../shared/protocol/authentication/cross-site.ts'
import { createDigestScheme } from '../../shared/protocol/authentication/digest/digest.ts'
import { createDigestCounts } from '../../shared/protocol/authentication/digest/digest-counts.ts'
import { createDigestNonces } from '../../shared/protocol/authentication/digest/digest-nonce.ts'
import { createTokenPasswords } from '../../shared/protocol/authentication/key-signed/key-signed-password.ts'
import type { LoginThrottle } from '../../shared/protocol/authentication/login-throttle.ts'
import type { Scheme } from '../../shared/protocol/authentication/scheme.ts'
import { createUsedSignatures } from '../../shared/protocol/authentication/signed-request/used-signatures.ts'
import type { LoginThrottleLimits } from '../../shared/server/login-throttle/attempt-keys.ts'
import { createLoginThrottle } from '../../shared/server/login-throttle/count-attempts.ts'
import { type NoteRefusal, notingRefusals } from '../../shared/server/login-throttle/limit-refusals.ts'
import type { Followed, FollowPorts } from '../../verify/src/service/follow-auth-server.ts'
import {
  createServiceAuthentication,
  type OwnParts,
  type ServiceAuthentication,
  type ServiceSettings,
} from '../../verify/src/service/service-authentication.ts'
import { askForPasswords } from '../auth-client/ask-for-passwords.ts'
import { followDigestSecrets } from '../auth-client/digest-secrets.ts'

/** The settings that authentication uses. */
export interface DealAuthenticationSettings extends Omit<ServiceSettings, 'audience'>, CrossSiteSettings {
  /** AUDIENCE. */
  readonly audience: string
  readonly loginFailures: LoginThrottleLimits
}

/** The parts that authentication uses. */
export interface DealAuthenticationPorts extends FollowPorts {
  readonly database: Database
  readonly withPermit: WithHashingPermit
  readonly noteRefusal: NoteRefusal
  /** All accepted SERVICE_SECRETs. */
  readonly serviceSecrets: readonly string[]
  /** Called with the outcome of every authentication. */
  readonly observe: NonNullable<AuthenticationPorts['observe']>
}

/** Makes the authentication with the enabled schemes. */
export const createDealAuthentication = (
  settings: DealAuthenticationSettings,
  ports: DealAuthenticationPorts,
): ServiceAuthentication =>
  createServiceAuthentication(
    {
      ...settings,
      audience: createAudience(settings.audience, { isOfPair: true }),
      resourceMetadata: resourceMetadataUrl(settings.publicOrigin),
    },
    {
      ...ports,
      refuseCrossSite: createCrossSiteRule(trustedOrigins(settings)),
      handsOnReusedSignatures: true,
      audienceClaims: [settings.audience, settings.publicOrigin],
      ownParts: (followed) => ownParts(settings, ports, followed),
    },
  )

/** Basic: the auth server counts the attempts that it verifies; this server counts those that its memory answers. */
function ownParts(settings: DealAuthenticationSettings, ports: DealAuthenticationPorts, followed: Followed): OwnParts {
  const { cache, clock, ids, database, serviceSecret, serviceSecrets: secrets, withPermit, noteRefusal } = ports
  const { authClient, principals } = followed
  const allGuesses = createLoginThrottle({
    cache,
    clock,
    ids,
    limits: settings.loginFailures,
    secrets,
    throttleGenerationOf: async (account) => (await principals.get(account))?.throttleGeneration,
  })
  return {
    passwords: () => ({
      verify: askForPasswords({ authClient, serviceSecret }),
      loginThrottle: notingRefusals(allGuesses, 'basic', noteRefusal),
    }),
    tokenPasswords: () =>
      createTokenPasswords({ withPermit, loginThrottle: notingRefusals(allGuesses, 'key-signed', noteRefusal), clock }),
    signatures: () => ({ use: createUsedSignatures({ database, clock }, 'deals') }),
    digest: () => digest(settings, notingRefusals(allGuesses, 'digest', noteRefusal), { ...ports, ...followed }),
  }
}

function digest(
  { publicOrigin }: DealAuthenticationSettings,
  loginThrottle: LoginThrottle,
  { authClient, principals, ...ports }: DealAuthenticationPorts & Followed,
): Scheme {
  const { clock, ids, cache, database, serviceSecret, serviceSecrets } = ports
  const history = createKnownHistory(database)
  return createDigestScheme({
    ...followDigestSecrets({ authClient, principals, clock, serviceSecret }),
    nonces: createDigestNonces({ secrets: serviceSecrets, clock, ids, history }),
    counts: createDigestCounts({ cache, database, schema: 'deals', history }),
    loginThrottle,
    clock,
    origin: publicOrigin,
  })
}
