/** GET and POST /oauth/userinfo (OpenID Connect Core §5.3). */
import * as z from 'zod'
import { component, defineCredentialEndpoint } from '../../../shared/server/endpoints/endpoint.ts'
import { invalidTokenChallenge, token } from '../request-parts/own-credential.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { oauthDefaults } from './oauth-endpoint.ts'

const response = component(
  'UserInfo',
  z
    .looseObject({
      sub: z.string().meta({ description: 'It is never given to another user.' }),
      preferred_username: z.string().optional(),
      name: z.string().optional(),
      updated_at: z.int().optional(),
      email: z.string().optional(),
      email_verified: z.boolean().optional(),
      roles: z.array(z.string()).optional(),
    })
    .meta({ description: 'OpenID Connect Core §5.1; `roles` is an addition.' }),
)

const refused = Object.fromEntries(
  ['invalid-token', 'token-expired', 'login-ended', 'principal-disabled'].map((code) => [code, invalidTokenChallenge]),
)

/** Creates both endpoints. The token comes in the header alone (RFC 6750 §2.1). */
export const userInfoEndpoints = ({ userInfo }: AuthServices) =>
  (['GET', 'POST'] as const).map((method) =>
    defineCredentialEndpoint({
      ...oauthDefaults,
      method,
      path: '/oauth/userinfo',
      id: method === 'GET' ? 'oauthUserInfo' : 'oauthUserInfoByPost',
      summary: 'Read who has signed in',
      description: 'For an access token of a login with the scope `openid`, whatever audience it is for.',
      security: ['bearer'],
      caller: {
        ...token,
        challenges: {
          ...refused,
          'missing-right': {
            'www-authenticate': ['Bearer realm="keyhold", error="insufficient_scope", scope="openid"'],
          },
        },
      },
      success: { description: 'The claims that the scopes of the login give.' },
      response,
      handle: async ({ caller }) => ({ body: (await userInfo(caller)) as z.output<typeof response.schema> }),
    }),
  )
