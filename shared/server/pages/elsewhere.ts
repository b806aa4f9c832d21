import { ProblemError } from '../../platform/problems/errors.ts'
import type { ServerName } from '../../protocol/problems/catalogue.ts'

/** The first segments of the routes that only one of the servers has. */
const firstSegments: Readonly<Record<ServerName, readonly string[]>> = {
  auth: [
    'login',
    'refresh',
    'logout',
    'me',
    'users',
    'sessions',
    'api-keys',
    'key-signed-tokens',
    'keys',
    'audit',
    'oauth',
    '.well-known',
  ],
  deal: ['rest', 'commands', 'command', 'query'],
}

const names: Readonly<Record<ServerName, string>> = { auth: 'auth server', deal: 'deal server' }

/** Where clients of OpenID Connect look for a provider. */
const openIdPath = '/.well-known/openid-configuration'

/**
 * The refusal of a path that the other server has, and of the metadata of OpenID providers: it says what there is, and
 * where, without what the client sent. Undefined for all other paths.
 */
export const refuseElsewhere =
  (server: ServerName, publicOrigins: Readonly<Record<ServerName, string>>) =>
  (path: string): ProblemError | undefined => {
    if (path === openIdPath) {
      const metadata = `${publicOrigins.auth}/.well-known/oauth-authorization-server`
      return new ProblemError('not-found', `Keyhold is no OpenID provider. Its OAuth metadata: ${metadata} (RFC 8414).`)
    }
    const other = server === 'auth' ? 'deal' : 'auth'
    const first = path.split('/', 2)[1]
    const known = firstSegments[other].find((segment) => segment === first)
    if (known === undefined) return undefined
    const place = `${publicOrigins[other]}/${known}`
    return new ProblemError('not-found', `This is the ${names[server]}. The ${names[other]} has that route: ${place}.`)
  }
