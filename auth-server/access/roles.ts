/** Roles: each gives its rights to all who have it. A change is in force for each of them when it is published. */
import { asc, eq, sql } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { differenceOf } from '../../shared/protocol/entry-changes.ts'
import type { Catalogue } from '../../shared/protocol/principal/catalogue.ts'
import { anonymousUsername } from '../../shared/protocol/principal/record.ts'
import { catalogueIn } from '../principals/catalogue.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { adminRole } from '../principals/rights.ts'
import { roles } from '../store/access-tables.ts'
import { passwordResets, users } from '../store/schema.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { type Grantor, mayTake, requireMayGrant } from '../users/granting-rights.ts'
import { distinct, grantProblems, refuseProblems, unknownNames } from '../users/user.ts'
import { changeCatalogue, lockRecords, namesOfUsers } from './change-catalogue.ts'

/** A role. Times in milliseconds. */
export interface Role {
  readonly name: string
  readonly description: string
  /** Names of rights, in the order of the catalogue. */
  readonly rights: readonly string[]
  readonly createdAt: number
  readonly updatedAt: number
}

/** The values of a role that can be replaced, checked by their form alone. */
export interface RoleValues {
  readonly description: string
  readonly rights: readonly string[]
  readonly requires?: RoleCheck | undefined
}

/** Judges the role that is there now, in the transaction. @throws ProblemError to undo the change */
export type RoleCheck = (now: Role) => void

/** The operations on roles. */
export type Roles = ReturnType<typeof createRoles>

/** How many roles there can be. */
export const maxRoles = 500

/** How many rights roles can give in all: each server has the catalogue in memory. */
export const maxGrants = 20_000

type RoleRow = typeof roles.$inferSelect

/** Creates the operations. Without `grantor` the server itself acts. All throw Unavailable. */
export function createRoles(systems: AuthSystems) {
  const { database, publisher } = systems
  return {
    list: () => listRoles(database.drizzle),
    /** @throws ProblemError `not-found` */
    read: (name: string) => readRole(database.drizzle, name),
    create: (name: string, values: RoleValues, grantor: Grantor) =>
      whenPublished(publisher, createRole(systems, { name, values, grantor })),
    replace: (name: string, values: RoleValues, grantor: Grantor) =>
      whenPublished(publisher, replaceRole(systems, { name, values, grantor })),
    delete: (name: string, grantor?: Grantor, requires?: RoleCheck) =>
      whenPublished(publisher, deleteRole(systems, name, { grantor, requires })),
  }
}

const noSuchRole = () => new ProblemError('not-found', 'There is no such role.')

const reserved = (detail: string) => new ProblemError('reserved-role', detail)

async function listRoles(source: Drizzle): Promise<Role[]> {
  const catalogue = await catalogueIn(source)
  const rows = await source.select().from(roles).orderBy(asc(roles.position))
  const rightsOf = new Map(catalogue.roles.map(({ name, rights }) => [name, rights]))
  return rows.map((row) => toRole(row, rightsOf.get(row.name)))
}

async function readRole(source: Drizzle, name: string): Promise<Role> {
  const found = (await listRoles(source)).find((role) => role.name === name)
  if (!found) throw noSuchRole()
  return found
}

const toRole = ({ name, description, rights, createdAt, updatedAt }: RoleRow, effective = rights): Role => ({
  name,
  description,
  rights: effective,
  createdAt: createdAt.getTime(),
  updatedAt: updatedAt.getTime(),
})

/** What the audit log tells of a role. */
const auditedOf = ({ rights, description }: RoleValues) => ({ rights, description })

interface RoleChange {
  readonly name: string
  readonly values: RoleValues
  readonly grantor: Grantor
}

/**
 * @throws ProblemError `invalid-value` for an unknown right, `role-exists`, `too-many-roles`, `missing-right` when
 * `grantor` lacks a right of the role
 */
const createRole = ({ database, clock }: AuthSystems, { name, values, grantor }: RoleChange) =>
  changeCatalogue(database, async (transaction, { catalogue, version }) => {
    const rights = distinct(values.rights)
    refuseProblems(unknownNames(catalogue.rights, rights, 'right'))
    if (catalogue.roles.some((role) => role.name === name))
      throw new ProblemError('role-exists', 'There is a role of this name.')
    requireRoom(catalogue, rights.length)
    if (catalogue.roles.length >= maxRoles)
      throw new ProblemError('too-many-roles', `There can be ${maxRoles} roles. Delete one first.`)
    const now = new Date(clock.now())
    const row = { name, description: values.description, rights, since: version, createdAt: now, updatedAt: now }
    const [made] = await transaction.insert(roles).values(row).returning()
    if (!made) throw noSuchRole()
    const verify = (source: Drizzle) => requireMayGrant(source, grantor, { rights, catalogue })
    return { result: toRole(made), isChanged: true, verify, differences: differenceOf({}, auditedOf(row)) }
  })

/**
 * @throws ProblemError `not-found`, `reserved-role`, `invalid-value`, `missing-right` when it gets or loses a right
 * that `grantor` lacks
 */
const replaceRole = ({ database, clock }: AuthSystems, { name, values, grantor }: RoleChange) =>
  changeCatalogue(database, async (transaction, { catalogue }) => {
    const before = await readRole(transaction, name)
    values.requires?.(before)
    if (name === adminRole) throw reserved(`The role ${adminRole} has all rights, and stays as it is.`)
    const rights = distinct(values.rights)
    refuseProblems(unknownNames(catalogue.rights, rights, 'right'))
    requireRoom(catalogue, rights.length - before.rights.length)
    const differences = differenceOf(auditedOf(before), auditedOf({ ...values, rights }))
    const { added = [], removed = [] } = differences.find(({ member }) => member === 'rights') ?? {}
    const [row] = await transaction
      .update(roles)
      .set({ description: values.description, rights, updatedAt: new Date(clock.now()) })
      .where(eq(roles.name, name))
      .returning()
    if (!row) throw noSuchRole()
    // A link that was made for fewer rights must not lead to these.
    if (added.length > 0) await transaction.delete(passwordResets).where(ofHolders(transaction, name))
    const verify = async (source: Drizzle) => {
      await requireMayGrant(source, grantor, { rights: [...added, ...removed], catalogue })
      await refuseForAnonymous(source)
    }
    return { result: toRole(row), isChanged: true, verify, differences }
  })

/** @throws ProblemError `too-many-rights` */
function requireRoom({ roles: present }: Catalogue, more: number): void {
  const given = present.reduce((sum, { name, rights }) => sum + (name === adminRole ? 0 : rights.length), 0)
  if (more > 0 && given + more > maxGrants)
    throw new ProblemError('too-many-rights', `Roles can give ${maxGrants} rights in all.`)
}

const hasRole = (name: string) => sql`${name} = any(${users.roles})`

const ofHolders = (source: Drizzle, name: string) =>
  sql`${passwordResets.userId} in ${source.select({ id: users.id }).from(users).where(hasRole(name))}`

/** The principal `anonymous` can have reading rights only. @throws ProblemError `invalid-value` */
async function refuseForAnonymous(source: Drizzle): Promise<void> {
  const [row] = await source.select().from(users).where(eq(users.usernameFolded, anonymousUsername))
  if (row && grantProblems(await catalogueIn(source), anonymousUsername, row).length > 0) {
    const message = `the principal ${anonymousUsername} has this role, and can have reading rights only`
    refuseProblems([{ pointer: '/rights', code: 'reading-rights-only', message }])
  }
}

/**
 * Deletes it, and takes it from all who have it. @throws ProblemError `not-found`, `reserved-role`, `missing-right`
 * when `grantor` lacks a right of the role, and what `requires` throws
 */
const deleteRole = (
  { database }: AuthSystems,
  name: string,
  { grantor, requires }: { grantor: Grantor | undefined; requires: RoleCheck | undefined },
) =>
  changeCatalogue(database, async (transaction, { catalogue, stored: { listed, demand } }) => {
    const role = await readRole(transaction, name)
    requires?.(role)
    if (name === adminRole) throw reserved(`The role ${adminRole} must stay.`)
    if (listed.includes(name)) throw reserved('The setting SECOND_FACTOR_ROLES names this role.')
    // Their records say that they need a second factor.
    const holders = demand.roles.includes(name) ? await namesOfUsers(transaction, hasRole(name)) : []
    const requireMayTake = await mayTake(transaction, grantor, { names: [name], rights: role.rights, catalogue })
    await lockRecords(transaction, holders)
    await transaction.delete(roles).where(eq(roles.name, name))
    await takeRole(transaction, name)
    const verify = async (source: Drizzle) => {
      await requireMayTake(source)
      // A user may have got the role since.
      await takeRole(source, name)
    }
    return {
      result: undefined,
      isChanged: true,
      renewed: holders,
      verify,
      differences: differenceOf(auditedOf(role), {}),
    }
  })

async function takeRole(transaction: Drizzle, name: string): Promise<void> {
  await transaction
    .update(users)
    .set({ roles: sql`array_remove(${users.roles}, ${name})` })
    .where(hasRole(name))
}
