/**
 * What demands a second factor (docs/contract/logins.md#second-factor): the roles of SECOND_FACTOR_ROLES, the rights
 * that only they give, and every role that gives such a right. Statements read it from auth.principal_change_counter.
 */
import { sql } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import type { Catalogue } from '../../shared/protocol/principal/catalogue.ts'
import { administrationRights } from '../principals/rights.ts'
import { principalChangeCounter, users } from '../store/schema.ts'

/** What demands a second factor: names of roles, and rights that users have directly. */
export interface Demand {
  readonly roles: readonly string[]
  readonly rights: readonly string[]
}

const administers: ReadonlySet<string> = new Set(administrationRights)

/**
 * The demand that follows from the roles of SECOND_FACTOR_ROLES. A right of administration demands a factor even if
 * other roles give it too: a role that was made for a part of the administrators' work is no way around the factor.
 */
export function demandOf(catalogue: Catalogue, listed: readonly string[]): Demand {
  const rightsOf = (isListed: boolean) =>
    new Set(catalogue.roles.filter(({ name }) => listed.includes(name) === isListed).flatMap((role) => role.rights))
  const [ofListed, ofOthers] = [rightsOf(true), rightsOf(false)]
  const demands = (right: string) => ofListed.has(right) && (administers.has(right) || !ofOthers.has(right))
  const roles = catalogue.roles.filter(({ name, rights }) => listed.includes(name) || rights.some(demands))
  return {
    roles: roles.map(({ name }) => name),
    rights: catalogue.rights.map(({ name }) => name).filter(demands),
  }
}

/** The stored demand, and SECOND_FACTOR_ROLES by which it was made. */
export interface StoredDemand {
  readonly listed: readonly string[]
  readonly demand: Demand
}

/** Reads the stored demand. */
export async function storedDemand(transaction: Drizzle): Promise<StoredDemand> {
  const { secondFactorRoles, demandingRoles, demandingRights } = principalChangeCounter
  const [row] = await transaction
    .select({ listed: secondFactorRoles, roles: demandingRoles, rights: demandingRights })
    .from(principalChangeCounter)
  return { listed: row?.listed ?? [], demand: { roles: row?.roles ?? [], rights: row?.rights ?? [] } }
}

/** Stores it. */
export async function storeDemand(transaction: Drizzle, { listed, demand }: StoredDemand): Promise<void> {
  await transaction.update(principalChangeCounter).set({
    secondFactorRoles: [...listed],
    demandingRoles: [...demand.roles],
    demandingRights: [...demand.rights],
  })
}

/** SQL for an array of texts. */
export const arrayOf = (names: readonly string[]) =>
  sql`array(select json_array_elements_text(${JSON.stringify(names)}::json))`

/** SQL condition on a row of auth.users: one of the demands concerns it, and the other does not. */
export const concernedBy = (before: Demand, after: Demand) => {
  const holds = ({ roles, rights }: Demand) =>
    sql`(${users.roles} && ${arrayOf(roles)} or ${users.rights} && ${arrayOf(rights)})`
  return sql`${holds(before)} <> ${holds(after)}`
}

/** True when both demand the same. */
export const isSameDemand = (a: Demand, b: Demand): boolean => JSON.stringify(a) === JSON.stringify(b)
