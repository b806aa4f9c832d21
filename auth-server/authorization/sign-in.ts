/**
 * Signing people in to applications (OAuth 2.0, OpenID Connect Core): authorization requests, codes, consents. This
 * folder owns what happens between an application's request and the login of that application. It must not know HTTP.
 */
import { consentPath, devicePath, signInPath } from '../../shared/server/pages/page-paths.ts'
import type { OAuthSystems } from '../oauth/oauth-systems.ts'
import { type Authorization, createAuthorization } from './authorize.ts'
import { type GivenConsent, listConsents, withdrawConsent } from './consents.ts'
import { createDeviceGrant, type DeviceGrant } from './device-grant.ts'
import { createCodeExchange, type ExchangeCode } from './exchange-code.ts'
import { createSignOuts, type SignOuts } from './sign-out.ts'
import { createStartClientLogin } from './start-client-login.ts'

/** What signs people in to applications. */
export interface SignIn {
  readonly authorization: Authorization
  readonly exchangeCode: ExchangeCode
  readonly deviceGrant: DeviceGrant
  readonly signOuts: SignOuts
  readonly consents: {
    /** @throws Unavailable */
    list(userId: string): Promise<GivenConsent[]>
    /** @throws ProblemError `not-found`; Unavailable */
    withdraw(user: { readonly userId: string; readonly username: string }, clientId: string): Promise<void>
  }
}

/** Creates it. */
export function createSignIn(systems: OAuthSystems): SignIn {
  const { publicOrigin } = systems.settings
  const pages = {
    authorize: `${publicOrigin}/oauth/authorize`,
    signIn: publicOrigin + signInPath,
    consent: publicOrigin + consentPath,
  }
  const startClientLogin = createStartClientLogin(systems)
  return {
    authorization: createAuthorization(systems, pages),
    exchangeCode: createCodeExchange(systems, startClientLogin),
    deviceGrant: createDeviceGrant(systems, { page: publicOrigin + devicePath, startClientLogin }),
    signOuts: createSignOuts(systems),
    consents: {
      list: (userId) => listConsents(systems, userId),
      withdraw: (user, clientId) => withdrawConsent(systems, user, clientId),
    },
  }
}
