/** The operations of administrators on users. Each change is published when its promise resolves. */
import type { PageRequest } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Catalogue } from '../../shared/protocol/principal/catalogue.ts'
import { isAnonymous } from '../../shared/protocol/principal/record.ts'
import { hashProblems } from '../passwords/foreign-hashes.ts'
import { passwordProblems } from '../passwords/password-policy.ts'
import { readCatalogue } from '../principals/catalogue.ts'
import type { Changed } from '../principals/principal-change.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { changeUser, deleteUser, revokeAllLogins, type UserCheck, type UserPatch, unlockUser } from './change-user.ts'
import { insertUser } from './create-user.ts'
import { type Grantor, rightsOfGrants } from './granting-rights.ts'
import { emailProblems, grantProblems, refuseProblems, type User, usernameProblems } from './user.ts'
import {
  createProfileReader,
  findMadeByDemo,
  hasNoUsers,
  listUsers,
  readPasswordHash,
  readUser,
  type UserFilter,
} from './user-rows.ts'

/** The values of a request to create a user, not checked yet. */
export interface UserRequest {
  readonly username: string
  readonly password?: string | undefined
  /** In place of `password`: its hash, of another system. */
  readonly passwordHash?: string | undefined
  readonly displayName?: string | null | undefined
  readonly email?: string | null | undefined
  readonly emailVerified?: boolean | undefined
  readonly roles?: readonly string[] | undefined
  readonly rights?: readonly string[] | undefined
  /** The default is true. */
  readonly enabled?: boolean | undefined
}

/** The operations on users. */
export type Users = ReturnType<typeof createUsers>

/** The same for callers, who can give and take only rights that they have. */
export interface UsersForCallers extends Omit<Users, 'create' | 'patch' | 'delete'> {
  create(request: UserRequest, grantor: Grantor): Promise<User>
  patch(username: string, patch: UserPatch, grantor: Grantor): Promise<User>
  delete(username: string, grantor: Grantor, requires?: UserCheck): Promise<void>
}

/**
 * Creates the operations on users over these systems. Lookups of names ignore ASCII case. Without `grantor` the server
 * itself acts. Each throws Unavailable, and ProblemError `not-found` for an unknown user name.
 */
export function createUsers(systems: AuthSystems) {
  const { database, publisher } = systems
  const published = <Result>(change: Promise<Changed<Result>>) => whenPublished(publisher, change)
  return {
    /**
     * @throws ProblemError `invalid-value` with `errors`, `user-exists`, `missing-right` when `grantor` lacks a right
     * of the user
     */
    create: (request: UserRequest, grantor?: Grantor) =>
      published(createUser(systems, request, { madeByDemo: false, grantor })),
    /** Creates a demo user. The mark is permanent: production refuses to start while a demo user exists. */
    createForDemo: (request: UserRequest) => published(createUser(systems, request, { madeByDemo: true })),
    /**
     * Refuses values that a user cannot have. Gives the rights that they grant. @throws ProblemError `invalid-value`
     */
    check: async (request: UserRequest) => {
      const catalogue = await readCatalogue(database)
      refuseImpossibleUser(catalogue, request)
      return rightsOfGrants(catalogue, request)
    },
    /** The same for a patch. */
    checkPatch: async (username: string, patch: UserPatch) =>
      refuseProblems(grantProblems(await readCatalogue(database), username, patch)),
    read: (username: string) => readUser(database, username),
    profile: createProfileReader(database),
    /** @throws ProblemError `invalid-parameter` for a filter by a role that does not exist */
    list: async (page: PageRequest & UserFilter) => {
      if (page.role !== undefined) requireRole(await readCatalogue(database), page.role)
      return listUsers(database, page)
    },
    patch: async (username: string, patch: UserPatch, grantor?: Grantor) => {
      refuseProblems(grantProblems(await readCatalogue(database), username, patch))
      return published(changeUser(systems, username, { patch, grantor }))
    },
    /** @throws ProblemError `reserved-user`, and as `deleteUser` */
    delete: async (username: string, grantor?: Grantor, requires?: UserCheck) => {
      if (isAnonymous(username)) throw new ProblemError('reserved-user', 'The reserved user cannot be deleted.')
      await published(deleteUser(database, username, { grantor, requires }))
    },
    logOutEverywhere: (username: string, extent = { everything: false }) =>
      published(revokeAllLogins(systems, username, extent)),
    /**
     * Until when an attempt was last refused for too many failures of this account, in milliseconds; undefined when
     * none is refused.
     */
    lockedUntil: async (username: string) => {
      await readUser(database, username)
      return systems.accountLocks.lockedUntil(username)
    },
    unlock: (username: string, grantor: Grantor) => published(unlockUser(database, username, grantor)),
    /** True when this is the user's password. For the server itself: the login throttle does not count the attempt. */
    hasPassword: async (username: string, password: string) => {
      const hash = await readPasswordHash(database, username)
      return hash !== undefined && systems.hashing.verify(hash, password)
    },
    findMadeByDemo: () => findMadeByDemo(database),
    isEmpty: () => hasNoUsers(database),
  }
}

/** @throws ProblemError `invalid-parameter` */
function requireRole({ roles }: Catalogue, role: string): void {
  if (roles.some(({ name }) => name === role)) return
  throw new ProblemError('invalid-parameter', 'role: There is no such role.')
}

/** @throws ProblemError `invalid-value` with `errors` */
function refuseImpossibleUser(catalogue: Catalogue, request: UserRequest): void {
  const { username, password = '', passwordHash, roles, rights, email = null, emailVerified = false } = request
  refuseProblems([
    ...usernameProblems(username),
    ...(passwordHash === undefined
      ? passwordProblems({ username, password }, '/password')
      : hashProblems(passwordHash)),
    ...grantProblems(catalogue, username, { roles, rights }),
    ...emailProblems({ email, emailVerified }),
  ])
}

async function createUser(
  systems: AuthSystems,
  request: UserRequest,
  { madeByDemo, grantor }: { readonly madeByDemo: boolean; readonly grantor?: Grantor | undefined },
): Promise<Changed<User>> {
  refuseImpossibleUser(await readCatalogue(systems.database), request)
  const { password = '', roles = [], rights = [], enabled = true, ...more } = request
  const passwordHash = request.passwordHash ?? (await systems.hashing.hash(password))
  return insertUser(systems, { ...more, passwordHash, roles, rights, enabled, madeByDemo }, grantor)
}
