import { OAuthError } from './oauth-error.ts'

/**
 * Judges the parameter `resource` of a token request (RFC 8707 §2): the server that the client wants to use the token
 * at. Every access token is for both servers, so it names one of their origins.
 * @throws OAuthError `invalid_target`
 */
export type RequireResource = (resource: string | undefined) => void

/** Creates the rule for servers with these public origins. */
export function createResourceRule(origins: readonly string[]): RequireResource {
  const known = new Set(origins.flatMap((origin) => [origin, `${origin}/`]))
  return (resource) => {
    if (resource === undefined || known.has(resource)) return
    throw new OAuthError(
      'invalid_target',
      `resource: Tokens of this server are for ${[...new Set(origins)].join(' and ')}.`,
    )
  }
}
