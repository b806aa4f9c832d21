/** POST /key-signed-tokens (docs/contract/callers.md#key-signed-token). */
import * as z from 'zod'
import {
  type BodyReader,
  component,
  defineCredentialEndpoint,
  jsonBody,
  seconds,
} from '../../../shared/server/endpoints/endpoint.ts'
import { keySignedParts } from '../../logins/key-signed-login.ts'
import type { Audiences } from '../../oauth/audiences.ts'
import { nameCaller, password } from '../request-parts/own-credential.ts'
import { chosenAudience, resource } from '../request-parts/resource-member.ts'
import type { AuthServices } from '../services/auth-services.ts'

const parts = z
  .array(z.enum(keySignedParts))
  .max(keySignedParts.length)
  .check(({ value, issues }) => {
    const at = value.findIndex((part, index) => value.indexOf(part) !== index)
    if (at < 0) return
    issues.push({
      code: 'custom',
      input: value,
      path: [at],
      params: { code: 'duplicate' },
      message: 'Name each part once.',
    })
  })

const schema = z.strictObject({
  username: z.string(),
  password: z.string(),
  include: parts.default(['username']),
  resource,
})

/** What the body asks for. */
type Wanted = Omit<z.output<typeof schema>, 'resource'> & { readonly audience: string | null }

const bodyWith = (audiences: Audiences): BodyReader<Wanted> => {
  const { read, describe } = jsonBody(schema)
  return {
    describe,
    read: async (request) => {
      const { resource: sent, ...wanted } = await read(request)
      return { ...wanted, audience: await chosenAudience(audiences, sent) }
    },
  }
}

const response = component(
  'KeySignedToken',
  z.object({
    token: z.string(),
    token_type: z.literal('KeySigned'),
    kid: z.string(),
    expires_at: seconds.meta({ description: 'Seconds since the epoch.' }),
    include: z.array(z.enum(['username', 'ip', 'password'])).meta({ description: 'What the token holds.' }),
  }),
)

/** POST /key-signed-tokens. */
export const keySignedTokenEndpoint = ({ logInKeySigned, audiences }: AuthServices) =>
  defineCredentialEndpoint({
    method: 'POST',
    path: '/key-signed-tokens',
    id: 'createKeySignedToken',
    summary: 'Get a key-signed token for user name and password',
    description:
      'With `ip`, it is good for the address of this request alone; with `password`, whoever uses it sends the ' +
      'password too. Without `username` its caller is `anonymous`.',
    tag: 'tokens',
    caller: password,
    body: bodyWith(audiences),
    status: 201,
    success: { description: 'The token.' },
    response,
    problems: ['scheme-without-second-factor'],
    audit: ({ body: { username } }) => ({ actor: username, action: 'key-signed-token.issued', target: username }),
    handle: async ({ request, body: { include: wanted, ...credentials } }) => {
      const include = keySignedParts.filter((part) => wanted.includes(part))
      const login = { ...credentials, include, clientAddress: request.peer.address, proved: nameCaller(request) }
      const { token, kid, expiresAt } = await logInKeySigned(login)
      return { body: { token, token_type: 'KeySigned' as const, kid, expires_at: expiresAt, include } }
    },
  })
