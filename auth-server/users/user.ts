/** The values of a user, and the rules for each value alone. Knows no database. */
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { MemberError } from '../../shared/platform/problems/problem-document.ts'
import { type Catalogue, effectiveRights, newGrants } from '../../shared/protocol/principal/catalogue.ts'
import { anonymousUsername, isAnonymous, isUsername } from '../../shared/protocol/principal/record.ts'

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

/** What the audit log tells of a user. */
export const auditedUserOf = ({ roles, rights, enabled }: Pick<User, 'roles' | 'rights' | 'enabled'>) => ({
  roles,
  rights,
  enabled,
})

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

/** Roles and direct rights that are asked for. */
export interface AskedGrants {
  readonly roles?: readonly string[] | undefined
  readonly rights?: readonly string[] | undefined
}

/** The problems of new roles and direct rights for `username`. */
export function grantProblems(
  catalogue: Catalogue,
  username: string,
  { roles = [], rights = [] }: AskedGrants,
): MemberError[] {
  const unknown = [...unknownNames(catalogue.roles, roles, 'role'), ...unknownNames(catalogue.rights, rights, 'right')]
  if (unknown.length > 0 || !isAnonymous(username)) return unknown
  const isReading = (given: readonly string[]) =>
    catalogue.rights.every(({ name, readsOnly }) => readsOnly || !given.includes(name))
  const ofRole = (role: string) => effectiveRights(catalogue, newGrants([role], []))
  const beyondReading = (pointer: string) => ({
    pointer,
    code: 'reading-rights-only',
    message: `the principal ${anonymousUsername} can be given reading rights only`,
  })
  return [
    ...roles.flatMap((role, at) => (isReading(ofRole(role)) ? [] : [beyondReading(`/roles/${at}`)])),
    ...rights.flatMap((right, at) => (isReading([right]) ? [] : [beyondReading(`/rights/${at}`)])),
  ]
}

/** The problems of names in `/roles` or `/rights` that the catalogue does not have. */
export function unknownNames(
  known: readonly { readonly name: string }[],
  asked: readonly string[],
  kind: 'role' | 'right',
): MemberError[] {
  const names = new Set(known.map(({ name }) => name))
  return asked.flatMap((name, at) =>
    names.has(name) ? [] : [{ pointer: `/${kind}s/${at}`, code: `unknown-${kind}`, message: `is not a ${kind}` }],
  )
}

/** Does nothing when there are no problems. @throws ProblemError `invalid-value` with all of them in `errors` */
export function refuseProblems(problems: readonly MemberError[]): void {
  if (problems.length > 0) {
    throw new ProblemError('invalid-value', 'Some values cannot be accepted.', { members: { errors: problems } })
  }
}

/** The values without duplicates: the stored form of roles and rights. */
export const distinct = (values: readonly string[]): string[] => [...new Set(values)]
