import { type Caller, missingRights } from '../../shared/protocol/authentication/authenticate.ts'
import { widthOf } from '../domain/own-deals.ts'

/** Requires rights in either width. @throws ProblemError `missing-right` with the names of all missing rights */
export function requireAnyWidth(caller: Caller, rights: readonly string[]): void {
  const missing = rights.filter((right) => widthOf(caller.rights, right) === undefined)
  if (missing.length > 0) throw missingRights(caller, missing)
}
