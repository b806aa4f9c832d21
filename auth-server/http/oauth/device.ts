/** The device grant (RFC 8628; docs/contract/sign-in.md#devices): its start, and what the page for its users needs. */
import * as z from 'zod'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { component, defineCredentialEndpoint, seconds, time } from '../../../shared/server/endpoints/endpoint.ts'
import { devicePath } from '../../../shared/server/pages/page-paths.ts'
import { noCache } from '../endpoints/tokens.ts'
import { browserOf } from '../request-parts/own-credential.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { askedMembers, askingClient, formBody, redirectTo } from './authorize.ts'
import { client, oauthBody, oauthDefaults, text } from './oauth-endpoint.ts'
import { authenticateApplicationAt, readClientCredentials } from './read-client-credentials.ts'

const begun = component(
  'DeviceAuthorization',
  z
    .object({
      device_code: z.string(),
      user_code: z.string(),
      verification_uri: z.string(),
      verification_uri_complete: z.string(),
      expires_in: seconds,
      interval: seconds,
    })
    .meta({ description: 'RFC 8628 §3.2.' }),
)

const beginDevice = (services: AuthServices) =>
  defineCredentialEndpoint({
    ...oauthDefaults,
    path: '/oauth/device_authorization',
    id: 'oauthDeviceAuthorization',
    summary: 'Let a device without a browser sign a person in',
    description:
      'RFC 8628 §3.1. The client authenticates as at `/oauth/token`. The user enters the code on a page, and the device ' +
      'polls `/oauth/token` with the `device_code`.',
    tag: 'clients',
    caller: client,
    body: oauthBody({ scope: text, resource: text }),
    success: { description: 'RFC 8628 §3.2.' },
    response: begun,
    handle: async ({ request, body: form }) => {
      const application = await authenticateApplicationAt(request, readClientCredentials(request, form), services)
      const { userCode, verificationUri, ...more } = await services.deviceGrant.begin(application, {
        scope: form.get('scope'),
        resource: form.get('resource'),
        clientAddress: request.peer.address,
      })
      return {
        body: {
          device_code: more.deviceCode,
          user_code: userCode,
          verification_uri: verificationUri,
          verification_uri_complete: `${verificationUri}?${new URLSearchParams({ user_code: userCode })}`,
          expires_in: more.expiresIn,
          interval: more.interval,
        },
        headers: noCache,
      }
    },
  })

const describeDevice = ({ deviceGrant, findCredentials }: AuthServices) =>
  defineCredentialEndpoint({
    method: 'GET',
    path: '/oauth/device/request',
    id: 'describeDeviceRequest',
    summary: 'Read what a device asks for',
    description: 'For the page on which users enter codes. Wrong codes count for the login throttle.',
    tag: 'clients',
    caller: browserOf(findCredentials, false),
    query: z.object({ user_code: z.string() }),
    status: 200,
    success: { description: 'The request.' },
    response: component(
      'AskedDevice',
      z.object({
        userCode: z.string(),
        ...askedMembers,
        address: z.string().meta({ description: 'Where the request came from.' }),
        createdAt: time,
      }),
    ),
    problems: ['unauthenticated', 'invalid-user-code', 'too-many-attempts'],
    handle: async ({ request, caller, query: { user_code: userCode } }) => {
      const asked = await deviceGrant.describe({ userCode, caller, address: request.peer.address })
      const { client: of, rights, scopes, address } = asked
      const createdAt = rfc3339(asked.createdAt)
      return { body: { userCode: asked.userCode, client: askingClient(of), rights, scopes, address, createdAt } }
    },
  })

const decisionSchema = z.strictObject({ user_code: z.string(), decision: z.enum(['allow', 'refuse']) })

const decideDevice = ({ deviceGrant, findCredentials, origin }: AuthServices) =>
  defineCredentialEndpoint({
    method: 'POST',
    path: '/oauth/device/decision',
    id: 'decideDeviceRequest',
    summary: 'Let a device act for oneself, or refuse it',
    description: 'The form of the page on which users enter codes.',
    tag: 'clients',
    caller: browserOf(findCredentials, true),
    body: formBody(decisionSchema),
    status: 303,
    success: { description: 'The browser goes on to a page that says what was decided.', headers: ['Location'] },
    problems: ['unauthenticated', 'invalid-user-code', 'missing-right', 'too-many-attempts'],
    handle: async ({ request, caller, body: { user_code: userCode, decision } }) => {
      await deviceGrant.answer({ userCode, caller, address: request.peer.address }, decision === 'allow')
      return redirectTo(`${origin}${devicePath}?${new URLSearchParams({ done: decision })}`)
    },
  })

/** The endpoints of the device grant. Its users need the session cookie. */
export const deviceEndpoints = (services: AuthServices) => [
  beginDevice(services),
  describeDevice(services),
  decideDevice(services),
]
