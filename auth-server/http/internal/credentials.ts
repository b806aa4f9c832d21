/** Endpoints to verify signed requests, Digest, Basic and sessions with. */

import { openInternally, sealInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { BasicPorts } from '../../../shared/protocol/authentication/basic/basic.ts'
import type { RequireRecentProof } from '../../../shared/protocol/authentication/recent-proof.ts'
import {
  apiKeyExchange,
  apiKeySecretPurpose,
  apiKeyUsedExchange,
} from '../../../shared/protocol/internal-api/api-key.ts'
import { digestSecretExchange, digestSecretPurpose } from '../../../shared/protocol/internal-api/digest-secret.ts'
import {
  passwordExchange,
  passwordPurpose,
  receivedPasswordSchema,
} from '../../../shared/protocol/internal-api/password.ts'
import {
  recentProofExchange,
  recentProofPurpose,
  sealedProofSchema,
} from '../../../shared/protocol/internal-api/recent-proof.ts'
import { sessionExchange } from '../../../shared/protocol/internal-api/session.ts'
import type { Catalogue } from '../../../shared/protocol/principal/catalogue.ts'
import type { ApiKeys } from '../../api-keys/api-keys.ts'
import type { StoredSessions } from '../../logins/use-session.ts'
import { narrowRights } from '../../services/narrow.ts'
import type { DigestSecrets } from '../../users/digest-secrets.ts'
import { defineInternalEndpoint, type InternalEndpoint } from './endpoint.ts'

/** Services that these endpoints use. */
export interface CredentialEndpointPorts {
  readonly apiKeys: Pick<ApiKeys, 'material' | 'noteUse'>
  /** The catalogue as services of this resource server see it. @throws Unavailable */
  sightOf(resourceServer: string): Promise<Catalogue>
  readonly digestSecrets: Pick<DigestSecrets, 'find'>
  readonly sessions: StoredSessions
  readonly verifyBasic: BasicPorts['verify']
  readonly requireRecentProof: RequireRecentProof
  /** All accepted values of SERVICE_SECRET. */
  readonly secrets: readonly string[]
}

/** The endpoints about credentials. */
export const credentialEndpoints = (ports: CredentialEndpointPorts): InternalEndpoint[] => [
  apiKeyEndpoint(ports),
  defineInternalEndpoint(apiKeyUsedExchange, async ({ path }) => {
    await ports.apiKeys.noteUse(path.id)
    return { body: undefined }
  }),
  digestSecretEndpoint(ports),
  passwordEndpoint(ports),
  sessionEndpoint(ports),
  recentProofEndpoint(ports),
]

/** A service gets what it can check with and cannot sign with: no secret of a key, and of its rights those it sees. */
const apiKeyEndpoint = ({ apiKeys, sightOf }: CredentialEndpointPorts) =>
  defineInternalEndpoint(apiKeyExchange, async ({ path, client }) => {
    const material = await apiKeys.material(path.id)
    if (!material) throw new ProblemError('not-found', 'There is no such API key.')
    const { former, ...key } = material
    const sealing = { secret: client.secret, purpose: apiKeySecretPurpose(material.id) }
    const sealed = <Material extends { readonly secret: string | null }>({ secret, ...rest }: Material) => ({
      ...rest,
      secretSealed: secret === null || client.proven ? null : sealInternally(secret, sealing),
    })
    const body = { ...sealed(key), former: former && sealed(former) }
    if (!client.proven || key.rights === null) return { body }
    const sight = await sightOf(client.proven.service.resourceServer.id)
    return { body: { ...body, rights: narrowRights(key.rights, sight) } }
  })

const digestSecretEndpoint = ({ digestSecrets }: CredentialEndpointPorts) =>
  defineInternalEndpoint(digestSecretExchange, async ({ query, client: { secret } }) => {
    const userhash = query.get('userhash')
    const found = await digestSecrets.find(userhash === null ? { username: query.get('username') ?? '' } : { userhash })
    if (!found) throw new ProblemError('not-found', 'There is no such Digest secret.')
    const { ha1, ...owner } = found
    const sealing = { secret, purpose: digestSecretPurpose(owner.userId) }
    return { body: { ...owner, ha1Sealed: sealInternally(ha1, sealing) } }
  })

const passwordEndpoint = ({ verifyBasic, secrets }: CredentialEndpointPorts) =>
  defineInternalEndpoint(passwordExchange, async ({ body: { credential, clientAddress } }) => {
    const opened = openInternally(credential, { secrets, purpose: passwordPurpose })
    if (opened === undefined) throw new ProblemError('invalid-body', 'The credential is not sealed as it should be.')
    const user = await verifyBasic({ ...receivedPasswordSchema.parse(JSON.parse(opened)), clientAddress })
    if (user) return { body: user }
    throw new ProblemError('invalid-credentials', 'The user name or the password is not right.', {
      headers: { 'www-authenticate': ['Keyhold-Internal'] },
    })
  })

/** Stores the session in the cache too, where all deal servers find it. */
const sessionEndpoint = ({ sessions }: CredentialEndpointPorts) =>
  defineInternalEndpoint(sessionExchange, async ({ body: { keyHash, isAction } }) => {
    return { body: { session: (await sessions.share(keyHash, isAction)) ?? null } }
  })

const recentProofEndpoint = ({ requireRecentProof, secrets }: CredentialEndpointPorts) =>
  defineInternalEndpoint(recentProofExchange, async ({ body }) => {
    const { username, userId, scheme, loginId, carriesPassword, proofSealed, clientAddress } = body
    const opened = openInternally(proofSealed, { secrets, purpose: recentProofPurpose })
    const proof = sealedProofSchema.safeParse(opened === undefined ? undefined : JSON.parse(opened))
    if (!proof.success) throw new ProblemError('invalid-body', 'The proof is not sealed as it should be.')
    const credential = { loginId: loginId ?? undefined, carriesPassword }
    const { password, code } = proof.data
    await requireRecentProof({ username, userId, scheme, credential }, { password, code, clientAddress })
    return { body: undefined }
  })
