import { ProblemError } from '../../platform/problems/errors.ts'
import type { ServerName } from '../problems/catalogue.ts'

/** The first segments of the routes that only one of the servers has. */
const firstSegments: Readonly<Record<ServerName, readonly string[]>> = {
  auth: [
    ...['login', 'refresh', 'logout', 'me', 'users', 'sessions', 'api-keys', 'key-signed-tokens'],
    ...['keys', 'audit', 'oauth', '.well-known'],
  ],
  deal: ['rest', 'commands', 'command', 'query'],
}

const names: Readonly<Record<ServerName, string>> = { auth: 'auth server', deal: 'deal server' }

/**
 * The refusal of a path that the other server has: it says where that is, without what the client sent. Undefined for
 * all other paths.
 */
export const refuseElsewhere =
  (server: ServerName, publicOrigins: Readonly<Record<ServerName, string>>) =>
  (path: string): ProblemError | undefined => {
    const other = server === 'auth' ? 'deal' : 'auth'
    const first = path.split('/', 2)[1]
    const known = firstSegments[other].find((segment) => segment === first)
    if (known === undefined) return undefined
    const place = `${publicOrigins[other]}/${known}`
    return new ProblemError('not-found', `This is the ${names[server]}. The ${names[other]} has that route: ${place}.`)
  }
