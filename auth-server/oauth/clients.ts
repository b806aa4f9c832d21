import { createHash } from 'node:crypto'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { build, parameters } from '../../shared/platform/database/statement.ts'
import { refusalOf } from '../../shared/protocol/authentication/authenticate.ts'
import type { StoredSigningKey } from '../../shared/protocol/authentication/signed-request/signing-key.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import type { PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import type { KnownClient } from '../clients/client-secrets.ts'
import { matchingSecret } from '../store/overlapping-secrets.ts'
import { usedSignatures } from '../store/schema.ts'
import { type ClientAssertion, readClientAssertion, subjectOf } from './client-assertion.ts'
import { invalidClient } from './oauth-error.ts'
import type { OAuthSystems } from './oauth-systems.ts'

/** The methods of client authentication (RFC 6749 §2.3.1, RFC 7523 §2.2), with their names of RFC 7591 §2. */
export const clientAuthenticationMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const

/** Client credentials of a request, not yet checked. */
export type ClientCredentials = SecretCredentials | AssertionCredentials | NoCredentials

/** A public client only says who it is. */
interface NoCredentials {
  readonly method: 'none'
  readonly clientId: string
}

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

/** The client that the credentials name; empty when they name none. */
export function namedClient(credentials: ClientCredentials): string {
  if (credentials.method !== 'private_key_jwt') return credentials.clientId
  return credentials.clientId ?? subjectOf(credentials.assertion) ?? ''
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
type Authenticate<Found> = (credentials: ClientCredentials, request: ClientRequest) => Promise<Found>

/** The authentication of clients, each kind by its own table. */
export interface ClientAuthentication {
  /** An API key as a client of `client_credentials`. */
  readonly authenticateClient: Authenticate<Client>
  /** An application that signs people in. A public one only says who it is. */
  readonly authenticateApplication: Authenticate<KnownClient>
}

/** Finds a client that has the secret, or whose key signed the assertion. */
interface Prover<Found> {
  bySecret(clientId: string, secret: string): Promise<Found | undefined>
  /** The keys (SPKI PEM) that may have signed, and the client if one has. */
  keysOf(
    clientId: string,
  ): Promise<{ readonly pems: readonly (string | null | undefined)[]; found(): Promise<Found | undefined> }>
}

/**
 * Creates client authentication. The login throttle counts its failures: a client counts as an account. A secret is
 * too long to be guessed, so it is compared before it is counted, as a Digest response is, and apart from passwords.
 * An assertion works once: it is counted first, so that a refusal by a limit does not use it up.
 */
export function createClientAuthentication(systems: OAuthSystems): ClientAuthentication {
  const { apiKeys, clients } = systems
  const ownerOf = async (key: StoredSigningKey | undefined): Promise<Client | undefined> => {
    const owner = key && (await systems.principal(key.username))
    if (!key || owner?.userId !== key.userId) return undefined
    return refusalOf(owner, { generation: undefined, loginId: key.id, tokenId: undefined }) ? undefined : { key, owner }
  }
  const byKey = proverAuthentication<Client>(systems, {
    bySecret: async (id, secret) => ownerOf(await apiKeys.authenticateClient(id, secret)),
    keysOf: async (id) => {
      const key = await apiKeys.material(id)
      return { pems: [key?.publicKeyPem, key?.former?.publicKeyPem], found: () => ownerOf(key) }
    },
  })
  const byClient = proverAuthentication<KnownClient>(systems, {
    bySecret: async (id, secret) => {
      const client = await clients.known(id)
      return matchingSecret(client?.secrets, secret) && client
    },
    keysOf: async (id) => {
      const client = await clients.known(id)
      return { pems: [client?.publicKeyPem], found: async () => client }
    },
  })
  return {
    authenticateClient: async (credentials, request) => {
      const client = await byKey(credentials, request)
      await apiKeys.noteUse(client.key.id)
      return client
    },
    authenticateApplication: async (credentials, request) => {
      if (credentials.method !== 'none') return byClient(credentials, request)
      const client = await clients.known(credentials.clientId)
      if (client?.kind !== 'public') throw invalidClient()
      return client
    },
  }
}

/** Authenticates by a secret or an assertion. */
function proverAuthentication<Found extends object>(systems: OAuthSystems, prover: Prover<Found>): Authenticate<Found> {
  const { issuer, publicOrigin } = systems.settings
  const bySecret = async ({ clientId, secret }: SecretCredentials, address: string) => {
    const client = await prover.bySecret(clientId, secret)
    await systems.loginThrottle.judge({ account: clientId, secret: 'client', address }, client !== undefined)
    return client
  }
  const byAssertion = (credentials: AssertionCredentials, { address, endpoint }: ClientRequest) => {
    const audiences = [issuer, `${publicOrigin}/oauth/token`, endpoint]
    const assertion = readClientAssertion(credentials.assertion, { audiences, clock: systems.clock })
    const isOfClient = assertion && (credentials.clientId ?? assertion.clientId) === assertion.clientId
    const attempt = { account: isOfClient ? assertion.clientId : undefined, secret: 'client', address } as const
    return systems.loginThrottle.attempt(attempt, async () =>
      isOfClient ? checkAssertion(systems, prover, assertion) : undefined,
    )
  }
  return async function authenticate(credentials, request) {
    if (credentials.method === 'none') throw invalidClient()
    const client =
      credentials.method === 'private_key_jwt'
        ? await byAssertion(credentials, request)
        : await bySecret(credentials, request.address)
    if (!client) throw invalidClient()
    return client
  }
}

async function checkAssertion<Found>(
  systems: OAuthSystems,
  prover: Prover<Found>,
  assertion: ClientAssertion,
): Promise<Found | undefined> {
  const { pems, found } = await prover.keysOf(assertion.clientId)
  const isSigned = await Promise.all(pems.map((pem) => pem != null && assertion.isSignedBy(pem)))
  if (!isSigned.includes(true)) return undefined
  return (await useOnce(systems, assertion)) ? found() : undefined
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
