import type { Traced } from '../../shared/platform/http/trace.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import { foldUsername, isAnonymous, type PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import type { Employee } from '../use-cases/define-use-case.ts'

/** Which of these names are enabled users': folded name → the user. @throws Unavailable when nobody can tell */
export type FindAssignableUsers = (
  usernames: readonly string[],
  traceContext?: Traced,
) => Promise<ReadonlyMap<string, Employee>>

/** The id of the user who has this name now, enabled or not; undefined when nobody has it. @throws Unavailable */
export type FindUserId = (username: string, traceContext?: Traced) => Promise<string | undefined>

/** From the principal records. */
export const createFindUserId =
  (principals: Principals): FindUserId =>
  async (username, traceContext) =>
    (await principals.get(username, traceContext))?.userId

/** Employees are the auth server's users; the principal `anonymous` is nobody (deal model 1.3). */
export function createFindAssignableUsers(principals: Principals): FindAssignableUsers {
  return async (usernames, traceContext) => {
    const records = await Promise.all(usernames.map((username) => principals.get(username, traceContext)))
    const known = records.filter((record) => record?.enabled && !isAnonymous(record.username))
    return new Map(
      known.flatMap((record) => (record ? [[foldUsername(record.username), employeeOf(record)] as const] : [])),
    )
  }
}

const employeeOf = ({ username, userId }: PrincipalRecord): Employee => ({ username, userId })
