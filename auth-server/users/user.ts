/** The values of a user, and the rules for each value alone. Knows no database. */
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { MemberError } from '../../shared/platform/problems/problem-document.ts'
import { anonymousUsername, isAnonymous, isUsername } from '../../shared/protocol/principal/record.ts'
import { effectiveRights, isRight, isRole, readingRights } from './rights.ts'

export { isUsername }

/** A user as administrators see it. Times in milliseconds. */
export interface User {
  readonly id: string
  readonly username: string
  readonly roles: readonly string[]
  /** Direct rights only. */
  readonly rights: readonly string[]
  readonly enabled: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

/** The problems of a name for a new user. */
export const usernameProblems = (username: string): MemberError[] =>
  isUsername(username)
    ? []
    : [
        {
          pointer: '/username',
          code: 'username-form',
          message: 'must be 1 to 64 letters, digits or any of . _ @ -, and more than one or two dots',
        },
      ]

/** The problems of new roles and direct rights for `username`. */
export function grantProblems(
  username: string,
  roles: readonly string[] = [],
  rights: readonly string[] = [],
): MemberError[] {
  const unknown = [
    ...roles.flatMap((role, at) =>
      isRole(role) ? [] : [{ pointer: `/roles/${at}`, code: 'unknown-role', message: 'is not a role' }],
    ),
    ...rights.flatMap((right, at) =>
      isRight(right) ? [] : [{ pointer: `/rights/${at}`, code: 'unknown-right', message: 'is not a right' }],
    ),
  ]
  if (unknown.length > 0 || !isAnonymous(username)) return unknown
  const beyondReading = (pointer: string) => ({
    pointer,
    code: 'reading-rights-only',
    message: `the principal ${anonymousUsername} can be given reading rights only`,
  })
  return [
    ...roles.flatMap((role, at) =>
      effectiveRights([role], []).every((right) => readingRights.has(right)) ? [] : [beyondReading(`/roles/${at}`)],
    ),
    ...rights.flatMap((right, at) => (readingRights.has(right) ? [] : [beyondReading(`/rights/${at}`)])),
  ]
}

/** Does nothing when there are no problems. @throws ProblemError `invalid-value` with all of them in `errors` */
export function refuseProblems(problems: readonly MemberError[]): void {
  if (problems.length > 0) {
    throw new ProblemError('invalid-value', 'Some values cannot be accepted.', { members: { errors: problems } })
  }
}

/** The values without duplicates: the stored form of roles and rights. */
export const distinct = (values: readonly string[]): string[] => [...new Set(values)]
