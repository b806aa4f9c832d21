import type { Traced } from '../../shared/platform/trace-context.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import { foldUsername, isAnonymous, type PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import type { UserIdentity } from '../domain/own-deals.ts'

/** The id of the user who has this name now, enabled or not; undefined without such a user. @throws Unavailable */
export type FindUserId = (username: string, traceContext?: Traced) => Promise<string | undefined>

/** Finds user ids in the principal records. */
export const createFindUserId =
  (principals: Principals): FindUserId =>
  async (username, traceContext) =>
    (await principals.get(username, traceContext))?.userId

/**
 * Finds those of these users who may own a deal or get a task: all enabled users of the auth server except `anonymous`
 * (docs/deal-model.md#assignable-users). Folded name → the user. @throws Unavailable without a current record
 */
export async function findAssignableUsers(
  principals: Principals,
  usernames: readonly string[],
  traceContext?: Traced,
): Promise<ReadonlyMap<string, UserIdentity>> {
  const records = await Promise.all(usernames.map((username) => principals.get(username, traceContext)))
  const known = records.filter((record) => record?.enabled && !isAnonymous(record.username))
  return new Map(
    known.flatMap((record) => (record ? [[foldUsername(record.username), identityOf(record)] as const] : [])),
  )
}

const identityOf = ({ username, userId }: PrincipalRecord): UserIdentity => ({ username, userId })
