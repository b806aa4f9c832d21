/** Endpoints to verify signed requests, Digest, Basic and sessions with. */

import { openInternally, sealInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
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
import { narrowRights } from '../../services/narrow.ts'
import { defineInternalEndpoint, type InternalEndpoint } from './endpoint.ts'
import type { InternalServices } from './internal-services.ts'

/** The endpoints about credentials. */
export const credentialEndpoints = (services: InternalServices): InternalEndpoint[] => [
  apiKeyEndpoint(services),
  defineInternalEndpoint(apiKeyUsedExchange, async ({ path }) => {
    await services.apiKeys.noteUse(path.id)
    return { body: undefined }
  }),
  digestSecretEndpoint(services),
  passwordEndpoint(services),
  sessionEndpoint(services),
  recentProofEndpoint(services),
]

/** A service gets what it can check with and cannot sign with: no secret of a key, and of its rights those it sees. */
const apiKeyEndpoint = ({ apiKeys, sightOf }: InternalServices) =>
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

const digestSecretEndpoint = ({ digestSecrets }: InternalServices) =>
  defineInternalEndpoint(digestSecretExchange, async ({ query, client: { secret } }) => {
    const userhash = query.get('userhash')
    const found = await digestSecrets.find(userhash === null ? { username: query.get('username') ?? '' } : { userhash })
    if (!found) throw new ProblemError('not-found', 'There is no such Digest secret.')
    const { ha1, ...owner } = found
    const sealing = { secret, purpose: digestSecretPurpose(owner.userId) }
    return { body: { ...owner, ha1Sealed: sealInternally(ha1, sealing) } }
  })

const passwordEndpoint = ({ verifyBasic, serviceSecrets: secrets }: InternalServices) =>
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
const sessionEndpoint = ({ sessions }: InternalServices) =>
  defineInternalEndpoint(sessionExchange, async ({ body: { keyHash, isAction } }) => {
    return { body: { session: (await sessions.share(keyHash, isAction)) ?? null } }
  })

const recentProofEndpoint = ({ requireRecentProof, serviceSecrets: secrets }: InternalServices) =>
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
