/**
 * The checks that a service has of its own when it has no secret of a caller: the auth server checks passwords,
 * Digest responses and signatures by HMAC, and counts what works once.
 */
import type { Clock } from '../../../shared/platform/clock.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { Traced } from '../../../shared/platform/trace-context.ts'
import { challengedScheme, wrongResponse } from '../../../shared/protocol/authentication/digest/digest.ts'
import { parseDigestCredential } from '../../../shared/protocol/authentication/digest/digest-credential.ts'
import { createDigestNonces, type DigestNonces } from '../../../shared/protocol/authentication/digest/digest-nonce.ts'
import type { TokenPasswords } from '../../../shared/protocol/authentication/key-signed/key-signed.ts'
import {
  attemptOf,
  rememberTokenPasswords,
} from '../../../shared/protocol/authentication/key-signed/remember-token-passwords.ts'
import type { Scheme } from '../../../shared/protocol/authentication/scheme.ts'
import { hasBody } from '../../../shared/protocol/authentication/signed-request/request-signature.ts'
import type { UseSignature } from '../../../shared/protocol/authentication/signed-request/used-signatures.ts'
import { questionOf } from '../../../shared/protocol/internal-api/exchange.ts'
import { usedSignaturesExchange } from '../../../shared/protocol/internal-api/used-signatures.ts'
import type { ReceivedRequest } from '../../../shared/protocol/internal-api/verify-request.ts'
import type { AuthClient, FollowingSystems } from '../auth-client/auth-client.ts'
import type { OwnChecks } from '../service/service-authentication.ts'
import { type Accepted, type AskAboutRequest, AskedRefusal, askAboutRequests } from './ask-about-requests.ts'
import { credentialOf, describeRequest } from './described-request.ts'
import { createRefusedAttempts } from './refused-attempts.ts'

interface AskingService extends FollowingSystems {
  /** The origin that clients of the service see. */
  readonly publicOrigin: string
  /** The history of the auth database, for Digest nonces; undefined where it is not known. */
  readonly history: string | undefined
}

/** Makes the checks. */
export function askedChecks(service: AskingService): OwnChecks {
  const { authClient, clock, ids, serviceSecret, publicOrigin, history } = service
  const ask = askAboutRequests(service)
  const askOfSecret = askOfSecrets(ask, publicOrigin)
  return {
    passwords: () => askedPasswords(askOfSecret, clock),
    tokenPasswords: () => askedTokenPasswords(askOfSecret, clock),
    signatures: () => ({
      demandsAudience: true,
      use: useElsewhere(authClient),
      verifyElsewhere: async (request, { fields: covered }) => {
        const fields = ['signature', 'signature-input', ...covered]
        const described = describeRequest(request, { fields, publicOrigin, hasBody: await hasBody(request) })
        return credentialOf(await ask(described, request), request)
      },
    }),
    digest: () => {
      const nonces = createDigestNonces({ secrets: [serviceSecret], clock, ids, history: { present: () => history } })
      return createAskedDigest(ask, publicOrigin, nonces)
    },
  }
}

/** A request that carries a secret, as far as it matters for the secret. */
interface SecretRequest {
  readonly headers: ReceivedRequest['headers']
  /** The canonical address of the client. */
  readonly address: string
}

/** Asks about a secret. Undefined for a wrong one. @throws ProblemError for another refusal; Unavailable */
type AskOfSecret = (request: SecretRequest, traceContext?: Traced) => Promise<Accepted | undefined>

/** Method and target of a request mean nothing for a secret that is in its header fields. */
const askOfSecrets =
  (ask: AskAboutRequest, publicOrigin: string): AskOfSecret =>
  async ({ headers, address: clientAddress }, traceContext) => {
    try {
      return await ask({ method: 'GET', url: `${publicOrigin}/`, headers, hasBody: false, clientAddress }, traceContext)
    } catch (error) {
      if (!(error instanceof AskedRefusal)) throw error
      if (error.code === 'invalid-credentials') return undefined
      throw error.withoutChallenge()
    }
  }

/** The auth server counts the attempts that it checks, and the service refuses whom it refused. */
function askedPasswords(askOfSecret: AskOfSecret, clock: Clock): ReturnType<OwnChecks['passwords']> {
  const refused = createRefusedAttempts(clock)
  return {
    loginThrottle: refused,
    verify: ({ username, password, clientAddress: address }, traceContext) => {
      const basic = Buffer.from(`${username}:${password}`).toString('base64')
      const asked = askOfSecret({ headers: { authorization: [`Basic ${basic}`] }, address }, traceContext)
      return refused.noting({ account: username, address }, asked)
    },
  }
}

/** The password of a token is checked with the token, which names the hash. */
function askedTokenPasswords(askOfSecret: AskOfSecret, clock: Clock): TokenPasswords {
  const refused = createRefusedAttempts(clock)
  return rememberTokenPasswords({
    loginThrottle: refused,
    clock,
    check: async (claims, tried) => {
      const { token, field, address } = tried
      const headers = { authorization: [`KeySigned ${token}`], 'x-key-signed-password': [field] }
      return (await refused.noting(attemptOf(claims, tried), askOfSecret({ headers, address }))) !== undefined
    },
  })
}

/** Marks signatures of unsafe requests as used, at the auth server. */
const useElsewhere =
  (authClient: AuthClient): UseSignature =>
  async ({ keyId: apiKey, digest: signature, expiresAt }) => {
    const question = questionOf(usedSignaturesExchange, { path: {}, body: { apiKey, signature, expiresAt } })
    const { status, body } = await authClient.ask(question)
    const answer = status === 200 ? usedSignaturesExchange.responseBody.safeParse(body).data : undefined
    if (!answer) throw new Unavailable('auth-server', { cause: new Error(`/internal/used-signatures: ${status}`) })
    return answer.usedAt ?? undefined
  }

/** What the auth server needs of a request: the response, and whether a browser would open a dialog for a challenge. */
const fields = ['authorization', 'sec-fetch-mode']

/**
 * Makes the scheme. A response is good once, so none is remembered. Nonces that are not of this service are refused
 * here.
 */
function createAskedDigest(ask: AskAboutRequest, publicOrigin: string, nonces: DigestNonces): Scheme {
  const challenged = challengedScheme(nonces)
  return {
    ...challenged,
    verify: async (text, request) => {
      const credential = parseDigestCredential(text)
      if (!credential || !nonces.read(credential.nonce)) throw wrongResponse(challenged.refusalHeaders(request))
      const described = describeRequest(request, { fields, publicOrigin, hasBody: false })
      return credentialOf(await ask(described, request), request)
    },
  }
}
