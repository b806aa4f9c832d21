import { and, eq, gt, isNull, or } from 'drizzle-orm'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { differenceOf } from '../../shared/protocol/entry-changes.ts'
import { type Changed, changePrincipal } from '../principals/principal-change.ts'
import { apiKeys } from '../store/schema.ts'
import { type Grantor, requireMayMakeKey } from '../users/granting-rights.ts'
import { userRow } from '../users/user-rows.ts'
import { type ApiKeyRotation, auditedKeyOf, type NewApiKey, refuseImpossibleRotation } from './api-key.ts'
import { noFormer, noSuchApiKey, type OfOwner, readApiKey } from './api-key-rows.ts'
import { type KeyMaking, makeMaterial } from './change-api-keys.ts'

/**
 * Gives a key new material under the same id. The former material is accepted too, until the overlap ends; with an
 * overlap of 0 it is refused at once. So is that of a suspended key whose rotation confirms it: nobody has confirmed
 * the former material. A second rotation ends the overlap of the first. Who rotates a key gets all that the key may do,
 * so `grantor` must be allowed to make such a key. A key that has expired is not found.
 * @throws ProblemError `not-found`, `invalid-value`, `missing-right`; Unavailable
 */
export async function rotateApiKey(
  systems: KeyMaking,
  { id, owner, grantor }: { readonly id: string; readonly owner: OfOwner; readonly grantor: Grantor | undefined },
  rotation: ApiKeyRotation,
): Promise<Changed<NewApiKey>> {
  const { database, clock } = systems
  const { username, kind } = await readApiKey(database.drizzle, id, owner)
  refuseImpossibleRotation(kind, rotation, clock.now())
  const { stored, shown } = await makeMaterial(systems, { kind, publicKeyPem: rotation.publicKeyPem }, id)
  return changePrincipal(database, username, async (transaction, { userId }) => {
    const holder = await userRow(transaction, userId)
    const now = clock.now()
    const isUnexpired = or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, new Date(now)))
    const isLive = and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt), isUnexpired)
    const [before] = await transaction.select().from(apiKeys).where(isLive)
    if (!before) throw noSuchApiKey()
    const confirmed = rotation.isConfirmed ?? grantor === undefined
    const former = await readApiKey(transaction, id, owner)
    const overlapSeconds = former.isSuspended && confirmed ? 0 : rotation.overlapSeconds
    await transaction
      .update(apiKeys)
      .set({
        ...stored,
        confirmed,
        ...formerOf(before, { now, overlapSeconds }),
        ...(rotation.expiresAt !== undefined && {
          expiresAt: rotation.expiresAt === null ? null : new Date(rotation.expiresAt),
        }),
      })
      .where(isLive)
    const key = await readApiKey(transaction, id, owner)
    const verify = (source: typeof transaction) =>
      requireMayMakeKey(source, grantor, { rights: before.rights, owner: holder })
    return {
      result: { key, ...shown },
      change: { verify },
      differences: differenceOf(auditedKeyOf(former), auditedKeyOf(key)),
    }
  }).catch((error: unknown) => {
    throw error instanceof ProblemError && error.code === 'not-found' ? noSuchApiKey() : error
  })
}

/** The former material of a key that has this material now. A rotation never lengthens its life. */
function formerOf(
  { secretSealed, publicKeyPem, expiresAt }: typeof apiKeys.$inferSelect,
  { now, overlapSeconds }: { readonly now: number; readonly overlapSeconds: number },
) {
  if (overlapSeconds === 0) return noFormer
  const until = Math.min(now + overlapSeconds * 1000, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY)
  return { formerSecretSealed: secretSealed, formerPublicKeyPem: publicKeyPem, formerUntil: new Date(until) }
}
