import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { parseUuid } from '../../use-cases/parameters.ts'

/** The id of the proposal in the path, in lower case. @throws ProblemError `not-found` */
export function proposalIdInPath(path: Readonly<Record<string, string | undefined>>): string {
  const id = parseUuid(path.id ?? '')
  if (id === undefined) throw new ProblemError('not-found', 'There is no such proposal: its id would be a UUID.')
  return id
}
