/**
 * Users: who there is, what each may do, and how their principals change. This folder owns users, roles, rights and principal
 * records, and what is announced of them; it must not know HTTP, tokens, nor how a login works beyond its generation.
 *
 * Here: what administrators and users themselves can do. Every change has been announced when its promise resolves.
 */

import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { isAnonymous } from '../../shared/protocol/principal/record.ts'
import type { PasswordHashing } from '../passwords/password-hashing.ts'
import { passwordProblems } from '../passwords/password-policy.ts'
import { changeUser, deleteUser, endAllLogins, type LogoutExtent, type UserPatch } from './change-user.ts'
import { type CreateUserPorts, insertUser } from './create-user.ts'
import type { Giver } from './gifts.ts'
import type { Changed } from './principal-change.ts'
import { type PrincipalPublisher, whenPublished } from './principal-publisher.ts'
import { grantProblems, refuseProblems, type User, usernameProblems } from './user.ts'
import { findMadeByDemo, hasNoUsers, listUsers, readPasswordHash, readUser } from './user-rows.ts'

/** A user to be created, as asked for. */
export interface UserRequest {
  readonly username: string
  readonly password: string
  readonly roles?: readonly string[] | undefined
  readonly rights?: readonly string[] | undefined
  /** True when left out. */
  readonly enabled?: boolean | undefined
}

/**
 * What can be done with users. Names are looked up folding ASCII case. Everything throws Unavailable, and ProblemError `not-found` for a
 * name that no user has.
 */
export interface Users {
  /** @throws ProblemError `invalid-value` with `errors`, `user-exists`, `missing-right` when `giver` has less than the user is to get */
  create(request: UserRequest, giver?: Giver): Promise<User>
  /** As `create`, and marks the user for good: production refuses to start while there is one. */
  createForDemo(request: UserRequest): Promise<User>
  read(username: string): Promise<User>
  list(page: PageRequest): Promise<Page<User>>
  /**
   * Replaces each member that is there. Disabling ends everything the user holds.
   * @throws ProblemError `invalid-value`, `last-admin`, `missing-right` when it gives more than `giver` has
   */
  patch(username: string, patch: UserPatch, giver?: Giver): Promise<User>
  /** @throws ProblemError `last-admin`, `reserved-user` */
  delete(username: string): Promise<void>
  /** Ends every token, key-signed token and session of the user, and its API keys and Digest secret if asked to. */
  logOutEverywhere(username: string, extent?: LogoutExtent): Promise<void>
  /** True when this is the user's password. For the server itself, not for callers: nothing counts the attempt. */
  hasPassword(username: string, password: string): Promise<boolean>
  /** The name of a user that the demo has made; undefined when there is none. */
  findMadeByDemo(): Promise<string | undefined>
  /** True on a server that has just been set up. */
  isEmpty(): Promise<boolean>
}

/** The same for callers: what they give, they must have. */
export interface UsersForCallers extends Omit<Users, 'create' | 'patch'> {
  create(request: UserRequest, giver: Giver): Promise<User>
  patch(username: string, patch: UserPatch, giver: Giver): Promise<User>
}

/** What users need. */
export interface UsersPorts extends CreateUserPorts {
  readonly hashing: PasswordHashing
  readonly publisher: Pick<PrincipalPublisher, 'waitUntilPublished'>
}

/** Users over these ports. */
export function createUsers(ports: UsersPorts): Users {
  const { database, publisher } = ports
  const published = <Result>(change: Promise<Changed<Result>>) => whenPublished(publisher, change)
  return {
    create: (request, giver) => published(createUser(ports, request, { madeByDemo: false, giver })),
    createForDemo: (request) => published(createUser(ports, request, { madeByDemo: true })),
    read: (username) => readUser(database, username),
    list: (page) => listUsers(database, page),
    patch: async (username, patch, giver) => {
      refuseProblems(grantProblems(username, patch.roles, patch.rights))
      return published(changeUser(ports, username, { patch, giver }))
    },
    delete: async (username) => {
      if (isAnonymous(username)) throw new ProblemError('reserved-user', 'the reserved user cannot be deleted')
      await published(deleteUser(database, username))
    },
    logOutEverywhere: (username, extent = { everything: false }) => published(endAllLogins(ports, username, extent)),
    hasPassword: async (username, password) => {
      const hash = await readPasswordHash(database, username)
      return hash !== undefined && ports.hashing.verify(hash, password)
    },
    findMadeByDemo: () => findMadeByDemo(database),
    isEmpty: () => hasNoUsers(database),
  }
}

/** Refuses what no user can be. @throws ProblemError `invalid-value` with `errors` */
export function refuseImpossibleUser({ username, password, roles, rights }: UserRequest): void {
  refuseProblems([
    ...usernameProblems(username),
    ...passwordProblems({ username, password }, '/password'),
    ...grantProblems(username, roles, rights),
  ])
}

async function createUser(
  ports: UsersPorts,
  request: UserRequest,
  { madeByDemo, giver }: { readonly madeByDemo: boolean; readonly giver?: Giver | undefined },
): Promise<Changed<User>> {
  refuseImpossibleUser(request)
  const { username, password, roles = [], rights = [], enabled = true } = request
  const passwordHash = await ports.hashing.hash(password)
  return insertUser(ports, { username, passwordHash, roles, rights, enabled, madeByDemo }, giver)
}
