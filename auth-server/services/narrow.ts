/**
 * What a service sees: the rights of its own resource server, and the roles that have some of them
 * (docs/contract/services.md#what-a-service-sees). Pure.
 */
import { adminRole } from '../users/rights.ts'

/** The rights and roles that there are. */
export interface CatalogueLists {
  readonly rights: readonly { readonly name: string; readonly resourceServer: string }[]
  readonly roles: readonly { readonly name: string; readonly rights: readonly string[] }[]
}

/** Which rights and roles a service sees. */
export interface Sight {
  seesRight(name: string): boolean
  seesRole(name: string): boolean
}

/** The sight of a resource server. The role `admin` has all rights, so each server with a right sees it. */
export function sightOf({ rights, roles }: CatalogueLists, resourceServer: string): Sight {
  const own = new Set(rights.flatMap((right) => (right.resourceServer === resourceServer ? [right.name] : [])))
  const given = roles.filter((role) => role.rights.some((right) => own.has(right))).map(({ name }) => name)
  const named = new Set(own.size === 0 ? [] : [adminRole, ...given])
  return { seesRight: (name) => own.has(name), seesRole: (name) => named.has(name) }
}
