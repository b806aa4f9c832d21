/**
 * The rights there are and the roles that bundle them (docs/contract.md#roles-and-rights). Rights are global: who has one has it on every
 * deal. This table is the only place that knows what a role means.
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
] as const

/** Every right, as principal records carry them. */
export const allRights = [...reading, ...dealing, ...managing, ...administering] as const

/** One of the rights. */
export type Right = (typeof allRights)[number]

/** Which rights a role stands for. */
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

/** The role of which at least one enabled user must be left. */
export const adminRole = 'admin' satisfies Role

/** Rights that only read: all that the principal `anonymous` may be given (docs/contract.md#roles-and-rights). */
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

/**
 * Effective rights: those of the roles and the direct ones together, each once, in the order of `allRights`. What this version of
 * the software does not know gives nothing.
 */
export function effectiveRights(roles: readonly string[], rights: readonly string[]): Right[] {
  const held = new Set<string>(rights)
  for (const role of roles) if (isRole(role)) for (const right of rightsOfRole[role]) held.add(right)
  return allRights.filter((right) => held.has(right))
}
