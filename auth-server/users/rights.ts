/**
 * The rights and the roles (docs/contract/accounts.md#roles-and-rights). Rights are global: a right holds for every
 * deal. Only this table knows the rights of a role.
 */

const reading = ['deal.read', 'deal.history.read'] as const

const dealing = [
  'deal.create',
  'deal.rename',
  'deal.change-price',
  'deal.change-completion-date',
  'deal.hold',
  'deal.unhold',
  'deal.assign-owner',
  'deal.task.add',
  'deal.task.assign',
  'deal.task.complete',
] as const

const managing = [
  'deal.complete',
  'deal.cancel',
  'deal.reopen',
  'deal.delete',
  'deal.restore',
  'task.read-any',
] as const

const administering = [
  'user.manage',
  'api-key.manage',
  'session.manage',
  'key.read',
  'audit.read',
  'token.introspect',
  'webhook.manage',
  'resource-server.manage',
] as const

/** Every right, in the order of principal records. */
export const allRights = [...reading, ...dealing, ...managing, ...administering] as const

/** One of the rights. */
export type Right = (typeof allRights)[number]

/** The rights of each role. */
const rightsOfRole = {
  viewer: reading,
  agent: [...reading, ...dealing],
  manager: [...reading, ...dealing, ...managing],
  admin: allRights,
} as const satisfies Record<string, readonly Right[]>

/** One of the roles. */
export type Role = keyof typeof rightsOfRole

/** Every role. */
export const allRoles = Object.keys(rightsOfRole) as readonly Role[]

/** The role that at least one enabled user must keep. */
export const adminRole = 'admin' satisfies Role

/** The rights that only read: `anonymous` can have no others (docs/contract/accounts.md#roles-and-rights). */
export const readingRights: ReadonlySet<string> = new Set<Right>([
  ...reading,
  'task.read-any',
  'key.read',
  'audit.read',
])

/** True when `text` is a role. */
export const isRole = (text: string): text is Role => Object.hasOwn(rightsOfRole, text)

/** True when `text` is a right. */
export const isRight = (text: string): text is Right => (allRights as readonly string[]).includes(text)

/** The rights that users have only by one of these roles, or directly: no other role gives them. */
export function rightsOfThese(roles: readonly Role[]): Right[] {
  const others = effectiveRights(
    allRoles.filter((role) => !roles.includes(role)),
    [],
  )
  return effectiveRights(roles, []).filter((right) => !others.includes(right))
}

/**
 * Effective rights: the rights of the roles and the direct rights, each once, in the order of `allRights`. Unknown
 * roles and rights, for example of a later version, are left out.
 */
export function effectiveRights(roles: readonly string[], rights: readonly string[]): Right[] {
  const effective = new Set<string>(rights)
  for (const role of roles) if (isRole(role)) for (const right of rightsOfRole[role]) effective.add(right)
  return allRights.filter((right) => effective.has(right))
}
