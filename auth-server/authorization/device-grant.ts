/**
 * The device grant (RFC 8628): a device without a browser shows a code, its user allows it in a browser elsewhere, and
 * the device gets a login by polling. That login outlives the session that allowed it.
 */
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { docsClientId } from '../../shared/protocol/access-token/access-token.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { KnownClient } from '../clients/client-secrets.ts'
import type { TokenResponse } from '../logins/issue-tokens.ts'
import { OAuthError } from '../oauth/oauth-error.ts'
import type { OAuthSystems } from '../oauth/oauth-systems.ts'
import { audienceOf, scopesOf } from './authorization-request.ts'
import { describeRights, lookUps, readSignedIn } from './authorize.ts'
import { storeConsent } from './consents.ts'
import { withConsent } from './decide.ts'
import {
  decideDeviceRequest,
  findDeviceRequest,
  insertDeviceRequest,
  pollDeviceRequest,
  type WaitingRequest,
} from './device-requests.ts'
import { openedText } from './sealed-request.ts'
import type { ClientFacts, StartClientLogin } from './start-client-login.ts'
import { newUserCode, readUserCode, userCodeHash } from './user-code.ts'

/** The `grant_type` with which a device polls. */
export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** How long a request is good, and how often a device may poll, in seconds. */
const times = { ttl: 600, interval: 5 }

/** What a device shows and polls with. Durations in seconds. */
export interface BegunDevice {
  readonly deviceCode: string
  readonly userCode: string
  readonly verificationUri: string
  readonly expiresIn: number
  readonly interval: number
}

/** What a user is asked. */
export interface AskedDevice {
  readonly userCode: string
  readonly client: KnownClient
  /** Null: all that the user may do. */
  readonly rights: readonly { readonly name: string; readonly description: string }[] | null
  readonly scopes: readonly string[]
  readonly address: string
  /** In milliseconds. */
  readonly createdAt: number
}

/** A user code that somebody who is signed in has entered. */
export interface EnteredCode {
  readonly userCode: string
  /** Undefined: the browser is not signed in. */
  readonly caller: Caller | undefined
  readonly address: string
}

/** The device grant. All throw Unavailable. */
export interface DeviceGrant {
  /**
   * Begins a request of a client that has authenticated.
   * @throws OAuthError `invalid_scope`, `invalid_target`; ProblemError `too-many-device-requests`
   */
  begin(client: KnownClient, facts: DeviceScope): Promise<BegunDevice>
  /** What the request asks for. @throws ProblemError `unauthenticated`, `invalid-user-code`, `too-many-attempts` */
  describe(entered: EnteredCode): Promise<AskedDevice>
  /** Stores the answer of the user. @throws ProblemError as `describe`; `missing-right` */
  answer(entered: EnteredCode, isAllowed: boolean): Promise<void>
  /**
   * Gives the tokens of a request that was allowed, once.
   * @throws OAuthError `authorization_pending`, `slow_down`, `access_denied`, `expired_token`, `invalid_grant`
   */
  poll(client: KnownClient, deviceCode: string, facts: ClientFacts): Promise<TokenResponse>
}

/** What a device asks for, and from where. */
interface DeviceScope {
  readonly scope: string | undefined
  readonly resource: string | undefined
  readonly clientAddress: string
}

/** The longest device code that is read, in characters. */
const maxCodeLength = 500

/** Creates it. `page` is the URL of the page on which users enter codes. */
export function createDeviceGrant(
  systems: OAuthSystems,
  { page, startClientLogin }: { readonly page: string; readonly startClientLogin: StartClientLogin },
): DeviceGrant {
  const { sealing, ids, clients, loginThrottle } = systems

  /** A user may try few codes: whoever finds one could let the device of another act for themselves, or refuse it. */
  const find = async ({ userCode, caller, address }: EnteredCode) => {
    if (!caller) throw new ProblemError('unauthenticated', 'Sign in with a browser first.')
    const read = readUserCode(userCode)
    const found = await loginThrottle.attempt({ account: caller.userId, secret: 'user-code', address }, async () => {
      const request = read === undefined ? undefined : await findDeviceRequest(systems, userCodeHash(read))
      const client = request && (await clients.known(request.clientId))
      return request && client && read !== undefined ? { request, client, userCode: read } : undefined
    })
    if (!found) throw invalidUserCode()
    return { ...found, caller }
  }
  const allow = async (request: WaitingRequest, client: KnownClient, caller: Caller) => {
    if (client.needsRight !== null && !caller.rights.has(client.needsRight)) throw lacksRight(client.needsRight)
    if (client.firstParty) return
    const user = await readSignedIn(systems, caller, client.id)
    if (user) await storeConsent(systems, withConsent(user, request), client.id)
  }

  return {
    begin: async (client, { scope, resource, clientAddress }) => {
      if (client.id === docsClientId)
        throw new OAuthError('unauthorized_client', 'This client signs in by pages alone.')
      const refuse = (...[code, description]: ConstructorParameters<typeof OAuthError>) =>
        new OAuthError(code, description)
      const lookUp = { known: lookUps(systems)(client), refuse }
      const { scopes, rights } = await scopesOf(scope, client, lookUp)
      const audience = await audienceOf(resource, client, lookUp)
      const [id, userCode] = [ids.uuid(), newUserCode(ids)]
      const isStored = await insertDeviceRequest(systems, {
        id,
        userCodeHash: userCodeHash(userCode),
        clientId: client.id,
        rights,
        scopes,
        audience,
        clientAddress,
        ...times,
      })
      if (!isStored) throw tooMany()
      const deviceCode = sealing.seal(id, placeOf(client))
      return { deviceCode, userCode, verificationUri: page, expiresIn: times.ttl, interval: times.interval }
    },
    describe: async (entered) => {
      const { request, client, userCode } = await find(entered)
      const { rights, scopes, clientAddress, createdAt } = request
      const described = rights && (await describeRights(systems, rights))
      return { userCode, client, rights: described, scopes, address: clientAddress, createdAt }
    },
    answer: async (entered, isAllowed) => {
      const { request, client, caller } = await find(entered)
      const { username, credential } = caller
      if (credential.loginId === undefined) throw new TypeError('a session has an id')
      if (isAllowed) await allow(request, client, caller)
      const decision = { isAllowed, sessionId: credential.loginId, username }
      if (!(await decideDeviceRequest(systems, request, decision))) throw invalidUserCode()
    },
    poll: async (client, deviceCode, facts) => {
      const login = deviceCode.length > maxCodeLength ? undefined : openedText(sealing, deviceCode, placeOf(client))
      if (login === undefined) throw new OAuthError('invalid_grant', 'The device_code is not one of this client.')
      const found = await pollDeviceRequest(systems, { id: login, clientId: client.id })
      if (!found || found.isExpired)
        throw new OAuthError('expired_token', 'Nobody has allowed it in time. Begin again.')
      const { state, isTooFast, approver, rights, scopes, audience } = found
      if (state === 'denied') throw new OAuthError('access_denied', 'The user has refused.')
      if (state === 'pending' && isTooFast) throw new OAuthError('slow_down', 'Wait five seconds more between polls.')
      if (state === 'pending') throw new OAuthError('authorization_pending', 'The user has not answered yet.')
      if (!approver) throw noLogin()
      const granted = { ...approver, login, rights, scopes, audience, nonce: null, sessionExpiresAt: null }
      const response = await startClientLogin(client, { granted, facts })
      if (!response) throw noLogin()
      return response
    },
  }
}

const placeOf = ({ id }: KnownClient) => ({ purpose: 'device-code', row: id })

const invalidUserCode = () =>
  new ProblemError('invalid-user-code', 'No device waits with this code: it is mistyped, was answered, or has expired.')

const lacksRight = (missingRight: string) =>
  new ProblemError('missing-right', `This application is for users with the right ${missingRight}.`, {
    members: { missingRight },
  })

const tooMany = () =>
  new ProblemError('too-many-device-requests', 'Too many devices wait for their users.', { retryAfterSeconds: 60 })

const noLogin = () =>
  new OAuthError('invalid_grant', 'The device_code was used before, or the user who allowed it has signed out since.')
