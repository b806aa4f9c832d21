/**
 * Exchanges an authorization code for the tokens of the login that it names (RFC 6749 §4.1.3). It works once, because
 * that login can be made once.
 */
import { timingSafeEqual } from 'node:crypto'
import type { KnownClient } from '../clients/client-secrets.ts'
import type { TokenResponse } from '../logins/issue-tokens.ts'
import { OAuthError } from '../oauth/oauth-error.ts'
import type { OAuthSystems } from '../oauth/oauth-systems.ts'
import { type CodeContent, digestOf, openCode } from './authorization-code.ts'
import type { ClientFacts, StartClientLogin } from './start-client-login.ts'

/** A request for the tokens of a code. */
export interface CodeExchange extends ClientFacts {
  readonly code: string
  readonly redirectUri: string
  readonly verifier: string | undefined
  /** The audience that `resource` chooses again; undefined when it is left out. */
  readonly audience: string | null | undefined
}

/** Exchanges. @throws OAuthError `invalid_grant`, `invalid_target`; ProblemError `too-many-logins`; Unavailable */
export type ExchangeCode = (client: KnownClient, exchange: CodeExchange) => Promise<TokenResponse>

/** Creates the exchange. */
export const createCodeExchange =
  (systems: OAuthSystems, startClientLogin: StartClientLogin): ExchangeCode =>
  async (client, exchange) => {
    const content = openCode(systems.sealing, client.id, exchange.code)
    if (!content || content.expiresAt <= systems.clock.now()) throw invalidCode()
    if (digestOf(exchange.redirectUri) !== content.redirect)
      throw invalidCode('The redirect_uri is another one than that of the authorization request.')
    if (!isVerified(content.challenge, exchange.verifier))
      throw invalidCode('The code_verifier does not fit the code_challenge (RFC 7636).')
    if (exchange.audience !== undefined && exchange.audience !== content.audience)
      throw new OAuthError('invalid_target', 'resource: The code is for another audience.')
    const response = await startClientLogin(client, { granted: content, facts: exchange })
    return response ?? refuseUsed(systems, content)
  }

const invalidCode = (detail = 'The code is not valid, was used before, or its session or consent has ended.') =>
  new OAuthError('invalid_grant', detail)

/** A verifier without a challenge is refused too: somebody may have taken the challenge away (RFC 9700 §2.1.1). */
function isVerified(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) return challenge === null && verifier === undefined
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  return timingSafeEqual(Buffer.from(digestOf(verifier)), Buffer.from(challenge))
}

/** A code that comes again ends what came of it (RFC 6749 §4.1.2). @throws OAuthError `invalid_grant` */
async function refuseUsed(systems: OAuthSystems, { login, username }: CodeContent): Promise<never> {
  if (await systems.refreshTokenFamilies.find(login))
    await systems.revokeLogin({ id: login, username, reason: 'code-reuse' })
  throw invalidCode()
}
