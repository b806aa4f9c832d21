/**
 * What a service sees (docs/contract/services.md#what-a-service-sees): the rights of its own resource server, and the
 * roles that have some of them. Pure.
 */
import type { Catalogue } from '../../shared/protocol/principal/catalogue.ts'
import type { StoredPrincipal } from '../../shared/protocol/principal/record.ts'

/** The catalogue as services of this resource server see it. */
export function narrowCatalogue({ rights, roles, ...catalogue }: Catalogue, resourceServer: string): Catalogue {
  const own = rights.filter((right) => right.resourceServer === resourceServer)
  const names = new Set(own.map(({ name }) => name))
  const narrowed = roles.map((role) => ({ ...role, rights: role.rights.filter((right) => names.has(right)) }))
  return { ...catalogue, rights: own, roles: narrowed.filter((role) => role.rights.length > 0) }
}

/**
 * The record as a service sees it that sees this catalogue. It names all roles: a service remembers the record, and a
 * role may be given rights of its resource server later, which changes the catalogue alone.
 */
export const narrowRecord = (record: StoredPrincipal, catalogue: Catalogue): StoredPrincipal => ({
  ...record,
  directRights: narrowRights(record.directRights, catalogue),
})

/** Those of these rights that a service sees. */
export function narrowRights(names: Iterable<string>, { rights }: Pick<Catalogue, 'rights'>): string[] {
  const seen = new Set(rights.map(({ name }) => name))
  return [...names].filter((name) => seen.has(name))
}
