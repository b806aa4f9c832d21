import type { Traced } from '../../shared/http/trace.ts'
import { foldUsername, isAnonymous } from '../../shared/principals/record.ts'
import type { Principals } from '../../shared/schemes/authenticate.ts'

/** Which of these names are enabled users': folded name → name as created. @throws Unavailable when nobody can tell */
export type FindEmployees = (usernames: readonly string[], onBehalfOf?: Traced) => Promise<ReadonlyMap<string, string>>

/** Employees are the auth server's users; the principal `anonymous` is nobody (deal model 1.3). */
export function createFindEmployees(principals: Principals): FindEmployees {
  return async (usernames, onBehalfOf) => {
    const records = await Promise.all(usernames.map((username) => principals.get(username, onBehalfOf)))
    const known = records.filter((record) => record?.enabled && !isAnonymous(record.username))
    return new Map(
      known.flatMap((record) => (record ? [[foldUsername(record.username), record.username] as const] : [])),
    )
  }
}
