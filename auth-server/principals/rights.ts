/**
 * The rights that the code of the pair names. Which rights there are, and which of them a role gives, is data: the
 * catalogue. A migration made these rights, and the roles of docs/contract/accounts.md#roles-and-rights.
 */

/** The rights of routes of the auth server, and of webhooks: a role that gives one of them administers. */
export const administrationRights = [
  'user.manage',
  'api-key.manage',
  'session.manage',
  'key.read',
  'audit.read',
  'token.introspect',
  'webhook.manage',
  'resource-server.manage',
  'client.manage',
] as const

/** The rights of one deal. Each has a narrower form for the deals that the user owns: `deal.read:own`. */
const rightsOfDeals = [
  'deal.read',
  'deal.history.read',
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
  'deal.complete',
  'deal.cancel',
  'deal.reopen',
  'deal.delete',
  'deal.restore',
] as const

type OwnForms<Names extends readonly string[]> = { readonly [Index in keyof Names]: `${Names[Index]}:own` }

/** Every right that the code names, in the order in which a new database has them. */
export const builtInRights = [
  ...rightsOfDeals,
  'task.read-any',
  'proposal.decide',
  ...administrationRights,
  ...(rightsOfDeals.map((right) => `${right}:own`) as unknown as OwnForms<typeof rightsOfDeals>),
] as const

/** One of these rights. */
export type Right = (typeof builtInRights)[number]

/** The role that has all rights, and that at least one enabled user must keep. */
export const adminRole = 'admin'

/** The resource server that the pair itself is. */
export const ownResourceServer = 'deals'
