import { createHash } from 'node:crypto'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { build, parameters } from '../../shared/platform/database/statement.ts'
import { refusalOf } from '../../shared/protocol/authentication/authenticate.ts'
import type { StoredSigningKey } from '../../shared/protocol/authentication/signed-request/signing-key.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import type { PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import { hasSecret } from '../api-keys/key-material.ts'
import type { KnownClient } from '../clients/client-secrets.ts'
import { matchingSecret } from '../store/overlapping-secrets.ts'
import { usedSignatures } from '../store/schema.ts'
import { type ClientAssertion, readClientAssertion } from './client-assertion.ts'
import { invalidClient, OAuthError } from './oauth-error.ts'
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

/** An authenticated client: an API key, and its owner. */
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
export type Authenticate<Found> = (credentials: ClientCredentials, request: ClientRequest) => Promise<Found>

/** What proves a client. Nothing proves one that does not exist. */
interface Accepted {
  /** True: to say who it is is enough. */
  readonly isPublic: boolean
  hasSecret(secret: string): boolean
  /** The keys (SPKI PEM) that may have signed. */
  readonly pems: readonly (string | null | undefined)[]
}

/** True when the request proves the client. */
type Proves = (accepted: Accepted) => Promise<boolean>

/** Finds the client of this id that the request proves. */
type Find<Found> = (clientId: string, proves: Proves) => Promise<Found | undefined>

const acceptedOfKey = (key: StoredSigningKey | undefined): Accepted => ({
  isPublic: false,
  hasSecret: (secret) => hasSecret(key, secret),
  pems: [key?.publicKeyPem, key?.former?.publicKeyPem],
})
const acceptedOfApplication = (client: KnownClient | undefined): Accepted => ({
  isPublic: client?.kind === 'public',
  hasSecret: (secret) => matchingSecret(client?.secrets, secret) !== undefined,
  pems: [client?.publicKeyPem],
})

/**
 * Creates client authentication. The login throttle counts its failures: a client counts as an account. A secret is
 * too long to be guessed, so it is compared before it is counted, as a Digest response is, and apart from passwords.
 * An assertion works once: it is counted first, so that a refusal by a limit does not use it up.
 */
export function createClientAuthentication(systems: OAuthSystems) {
  const { apiKeys, clients, knownKeys } = systems
  const accepted = async (key: StoredSigningKey | undefined, proves: Proves, ownerOf: OAuthSystems['principal']) => {
    if (!(await proves(acceptedOfKey(key))) || !key) return undefined
    const owner = await ownerOf(key.username)
    if (owner?.userId !== key.userId) return undefined
    return refusalOf(owner, { generation: undefined, loginId: key.id, tokenId: undefined }) ? undefined : { key, owner }
  }
  const findKey: Find<Client> = async (id, proves) => {
    const known = await knownKeys.find(id)
    const client = await accepted(known, proves, knownKeys.owner)
    // Memory may be some moments behind other servers: it accepts, and what it refuses the database decides.
    return client ?? (known && accepted(await apiKeys.material(id), proves, systems.principal))
  }
  const findApplication: Find<KnownClient> = async (id, proves) => {
    const client = await clients.known(id)
    return (await proves(acceptedOfApplication(client))) ? client : undefined
  }
  const findKeyAlone: Find<Client> = async (id, proves) => {
    const found = await findKey(id, proves)
    if (found || !(await findApplication(id, proves))) return found
    throw new OAuthError('unauthorized_client', 'An application that signs people in has no grant of its own.')
  }
  const findAny: Find<Client | KnownClient> = async (id, proves) => {
    const client = await clients.known(id)
    if (!client) return findKey(id, proves)
    return (await proves(acceptedOfApplication(client))) ? client : undefined
  }
  const by = <Found extends Client | KnownClient>(find: Find<Found>): Authenticate<Found> => {
    const authenticate = authenticateBy(systems, find)
    return async (credentials, request) => {
      const client = await authenticate(credentials, request)
      if (!client) throw invalidClient()
      if ('key' in client) await apiKeys.noteUse(client.key.id)
      return client
    }
  }
  return {
    /** An API key as a client of `client_credentials`. @throws OAuthError `unauthorized_client` for an application */
    authenticateClient: by(findKeyAlone),
    /** An application that signs people in. A public one only says who it is. */
    authenticateApplication: by(findApplication),
    /** Either of them. */
    authenticateAny: by(findAny),
  }
}

function authenticateBy<Found extends object>(systems: OAuthSystems, find: Find<Found>) {
  const { issuer, publicOrigin } = systems.settings
  const bySecret = async ({ clientId, secret }: SecretCredentials, address: string) => {
    const client = await find(clientId, async ({ hasSecret: isOf }) => isOf(secret))
    await systems.loginThrottle.judge({ account: clientId, secret: 'client', address }, client !== undefined)
    return client
  }
  const byAssertion = (credentials: AssertionCredentials, { address, endpoint }: ClientRequest) => {
    const audiences = [issuer, `${publicOrigin}/oauth/token`, endpoint]
    const assertion = readClientAssertion(credentials.assertion, { audiences, clock: systems.clock })
    const isOfClient = assertion && (credentials.clientId ?? assertion.clientId) === assertion.clientId
    const attempt = { account: isOfClient ? assertion.clientId : undefined, secret: 'client', address } as const
    return systems.loginThrottle.attempt(attempt, async () =>
      isOfClient ? find(assertion.clientId, ({ pems }) => isProof(systems, assertion, pems)) : undefined,
    )
  }
  return async (credentials: ClientCredentials, request: ClientRequest): Promise<Found | undefined> => {
    if (credentials.method === 'none') return find(credentials.clientId, async ({ isPublic }) => isPublic)
    return credentials.method === 'private_key_jwt'
      ? byAssertion(credentials, request)
      : bySecret(credentials, request.address)
  }
}

/** True when one of these keys has signed the assertion, the first time that it comes. */
async function isProof(systems: OAuthSystems, assertion: ClientAssertion, pems: Accepted['pems']): Promise<boolean> {
  const isSigned = await Promise.all(pems.map((pem) => pem != null && assertion.isSignedBy(pem)))
  return isSigned.includes(true) && useOnce(systems, assertion)
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
