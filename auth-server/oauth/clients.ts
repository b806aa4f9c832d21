import { createHash } from 'node:crypto'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { build, parameters } from '../../shared/platform/database/statement.ts'
import { refusalOf } from '../../shared/protocol/authentication/authenticate.ts'
import type { StoredSigningKey } from '../../shared/protocol/authentication/signed-request/signing-key.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import type { PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import { usedSignatures } from '../store/schema.ts'
import { type ClientAssertion, readClientAssertion } from './client-assertion.ts'
import { invalidClient } from './oauth-error.ts'
import type { OAuthSystems } from './oauth-systems.ts'

/** The methods of client authentication (RFC 6749 §2.3.1, RFC 7523 §2.2), with their names of RFC 7591 §2. */
export const clientAuthenticationMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const

/** Client credentials of a request, not yet checked. */
export type ClientCredentials = SecretCredentials | AssertionCredentials

interface SecretCredentials {
  readonly method: 'client_secret_basic' | 'client_secret_post'
  readonly clientId: string
  readonly secret: string
}

interface AssertionCredentials {
  readonly method: 'private_key_jwt'
  readonly clientId: string | undefined
  readonly assertion: string
}

/** An authenticated client: an API key, and its owner as the database has it now. */
export interface Client {
  readonly key: StoredSigningKey
  readonly owner: PrincipalRecord
}

/** Facts about the request that client authentication needs. */
export interface ClientRequest {
  /** The client's canonical address. */
  readonly address: string
  /** The URL of the endpoint, which an assertion may name as its audience. */
  readonly endpoint: string
}

/** Authenticates a client. @throws OAuthError `invalid_client`; ProblemError `too-many-attempts`; Unavailable */
export type AuthenticateClient = (credentials: ClientCredentials, request: ClientRequest) => Promise<Client>

/**
 * Creates client authentication. The login throttle counts its failures: a client counts as an account. A secret is
 * too long to be guessed, so it is compared before it is counted, as a Digest response is, and apart from passwords.
 * An assertion works once: it is counted first, so that a refusal by a limit does not use it up.
 */
export function createClientAuthentication(systems: OAuthSystems): AuthenticateClient {
  const { issuer, publicOrigin } = systems.settings
  const ownerOf = async (key: StoredSigningKey | undefined): Promise<Client | undefined> => {
    const owner = key && (await systems.principal(key.username))
    if (!key || owner?.userId !== key.userId) return undefined
    return refusalOf(owner, { generation: undefined, loginId: key.id, tokenId: undefined }) ? undefined : { key, owner }
  }
  const bySecret = async ({ clientId, secret }: SecretCredentials, address: string) => {
    const client = await ownerOf(await systems.apiKeys.authenticateClient(clientId, secret))
    await systems.loginThrottle.judge({ account: clientId, secret: 'client', address }, client !== undefined)
    return client
  }
  const byAssertion = (credentials: AssertionCredentials, { address, endpoint }: ClientRequest) => {
    const audiences = [issuer, `${publicOrigin}/oauth/token`, endpoint]
    const assertion = readClientAssertion(credentials.assertion, { audiences, clock: systems.clock })
    const isOfClient = assertion && (credentials.clientId ?? assertion.clientId) === assertion.clientId
    const attempt = { account: isOfClient ? assertion.clientId : undefined, secret: 'client', address } as const
    return systems.loginThrottle.attempt(attempt, async () =>
      isOfClient ? ownerOf(await checkAssertion(systems, assertion)) : undefined,
    )
  }
  return async function authenticateClient(credentials, request) {
    const client =
      credentials.method === 'private_key_jwt'
        ? await byAssertion(credentials, request)
        : await bySecret(credentials, request.address)
    if (!client) throw invalidClient()
    await systems.apiKeys.noteUse(client.key.id)
    return client
  }
}

async function checkAssertion(
  systems: OAuthSystems,
  assertion: ClientAssertion,
): Promise<StoredSigningKey | undefined> {
  const key = await systems.apiKeys.material(assertion.clientId)
  const accepted = [key?.publicKeyPem, key?.former?.publicKeyPem]
  const isSigned = await Promise.all(accepted.map((pem) => pem != null && assertion.isSignedBy(pem)))
  if (!isSigned.includes(true)) return undefined
  return (await useOnce(systems, assertion)) ? key : undefined
}

const used = parameters({ keyId: 'text', signature: 'text', usedAt: 'timestamptz', expiresAt: 'timestamptz' })
const useSql = used.statement(
  build
    .insert(usedSignatures)
    .values({
      keyId: used.keyId,
      signature: used.signature,
      usedAt: used.usedAt,
      expiresAt: used.expiresAt,
    })
    .onConflictDoNothing()
    .returning({ used: usedSignatures.keyId }),
)

/**
 * Marks the assertion as used. False when it was used before (RFC 7523 §3, point 7). The table also holds the
 * signatures of signed requests. The hashed text cannot be one of these.
 */
async function useOnce(
  { database, clock }: OAuthSystems,
  { clientId, jti, expiresAt }: ClientAssertion,
): Promise<boolean> {
  const digest = createHash('sha256')
    .update(JSON.stringify(['client assertion', jti]))
    .digest('base64url')
  const use = useSql({
    keyId: clientId,
    signature: digest,
    usedAt: rfc3339(clock.now()),
    expiresAt: rfc3339((expiresAt + clockToleranceSeconds) * 1000),
  })
  const rows = await database.write(...use)
  return rows.length === 1
}
