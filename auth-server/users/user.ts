/** The values of a user, and the rules for each value alone. Knows no database. */
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { MemberError } from '../../shared/platform/problems/problem-document.ts'
import { differenceOf, type EntryChange } from '../../shared/protocol/entry-changes.ts'
import { type Catalogue, effectiveRights, newGrants } from '../../shared/protocol/principal/catalogue.ts'
import { anonymousUsername, isAnonymous, isUsername } from '../../shared/protocol/principal/record.ts'

/** What people know a user by. No principal record, token or log has it. */
export interface Profile {
  readonly displayName: string | null
  readonly email: string | null
  /** An administrator has checked the address. */
  readonly emailVerified: boolean
}

/** A user as administrators see it. Times in milliseconds. */
export interface User extends Profile {
  readonly id: string
  readonly username: string
  readonly roles: readonly string[]
  /** Direct rights only. */
  readonly rights: readonly string[]
  readonly enabled: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

/** What the audit log says of a change. A new user has no values before, a deleted one none after. */
export function userChanges(before: Partial<User>, after: Partial<User>): EntryChange[] {
  // Of personal data, only that it changed.
  const personal = (['displayName', 'email'] as const).filter(
    (member) => (before[member] ?? null) !== (after[member] ?? null),
  )
  return [
    ...differenceOf(auditedUserOf(before), auditedUserOf(after)),
    ...personal.map((member) => ({ added: [], member, removed: [] })),
  ]
}

const auditedUserOf = ({ roles, rights, enabled, emailVerified }: Partial<User>) => ({
  roles,
  rights,
  enabled,
  emailVerified: emailVerified || undefined,
})

/** The problem of a checked address where there is none. */
export const emailProblems = ({ email, emailVerified }: Partial<Profile>): MemberError[] =>
  emailVerified && (email ?? null) === null
    ? [{ pointer: '/emailVerified', code: 'email-missing', message: 'needs an address in email' }]
    : []

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
