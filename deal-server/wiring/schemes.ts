/**
 * The authentication of the deal server: that of a service which follows the auth server, with the parts that the deal
 * server has of its own. It shares a cache with other servers, and keeps used signatures and Digest counts in its
 * database.
 */

import type { WithHashingPermit } from '../../shared/platform/crypto/hashing-permits.ts'
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
import {
  createServiceAuthentication,
  type OwnChecks,
  type ServiceAuthentication,
  type ServiceSettings,
} from '../../verify/src/service/service-authentication.ts'
import { askForPasswords } from '../auth-client/ask-for-passwords.ts'
import { followDigestSecrets } from '../auth-client/digest-secrets.ts'
import type { DealSystems } from './deal-systems.ts'

interface DealAuthenticationSettings extends Omit<ServiceSettings, 'audience'>, CrossSiteSettings {
  /** AUDIENCE. */
  readonly audience: string
  readonly loginFailures: LoginThrottleLimits
}

interface DealAuthenticationOptions {
  readonly withPermit: WithHashingPermit
  readonly noteRefusal: NoteRefusal
  /** Called with the outcome of every authentication. */
  readonly observe: NonNullable<AuthenticationPorts['observe']>
}

/** Makes the authentication with the enabled schemes. */
export const createDealAuthentication = (
  settings: DealAuthenticationSettings,
  systems: DealSystems,
  options: DealAuthenticationOptions,
): ServiceAuthentication =>
  createServiceAuthentication(
    {
      ...settings,
      audience: createAudience(settings.audience, { isOfPair: true }),
      resourceMetadata: resourceMetadataUrl(settings.publicOrigin),
    },
    {
      ...systems,
      observe: options.observe,
      refuseCrossSite: createCrossSiteRule(trustedOrigins(settings)),
      handsOnReusedSignatures: true,
      audienceClaims: [settings.audience, settings.publicOrigin],
      own: ownChecks(settings, systems, options),
    },
  )

/** Basic: the auth server counts the attempts that it verifies; this server counts those that its memory answers. */
function ownChecks(
  settings: DealAuthenticationSettings,
  systems: DealSystems,
  { withPermit, noteRefusal }: DealAuthenticationOptions,
): OwnChecks {
  const { clock, serviceSecrets: secrets, followed } = systems
  const allGuesses = createLoginThrottle({
    ...systems,
    limits: settings.loginFailures,
    secrets,
    throttleGenerationOf: async (account) => (await followed.principals.get(account))?.throttleGeneration,
  })
  return {
    passwords: () => ({
      verify: askForPasswords(systems),
      loginThrottle: notingRefusals(allGuesses, 'basic', noteRefusal),
    }),
    tokenPasswords: () =>
      createTokenPasswords({ withPermit, loginThrottle: notingRefusals(allGuesses, 'key-signed', noteRefusal), clock }),
    signatures: () => ({ use: createUsedSignatures(systems, 'deals') }),
    digest: () => digest(settings, systems, notingRefusals(allGuesses, 'digest', noteRefusal)),
  }
}

function digest(
  { publicOrigin: origin }: DealAuthenticationSettings,
  systems: DealSystems,
  loginThrottle: LoginThrottle,
): Scheme {
  const { clock, ids, database, serviceSecrets: secrets, followed } = systems
  const history = createKnownHistory(database)
  return createDigestScheme({
    ...followDigestSecrets(systems, followed.principals),
    nonces: createDigestNonces({ secrets, clock, ids, history }),
    counts: createDigestCounts({ ...systems, schema: 'deals', history }),
    loginThrottle,
    clock,
    origin,
  })
}
