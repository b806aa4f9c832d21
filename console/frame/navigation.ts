/** The pages that the header of every page leads to. They are on both servers: staff see one console. */
import type { Right } from '../../auth-server/principals/rights.ts'
import type { ServerName } from '../../shared/protocol/problems/catalogue.ts'

/** A page of the navigation. */
export interface NavigationEntry {
  readonly server: ServerName
  readonly path: string
  readonly text: string
  /** Readers without it do not see the entry. */
  readonly right?: Right
}

/** What readers work with, in order. */
export const workPages: readonly NavigationEntry[] = [
  { server: 'deal', path: '/console', text: 'Dashboard', right: 'deal.read' },
  { server: 'deal', path: '/console/deals', text: 'Deals', right: 'deal.read' },
  { server: 'deal', path: '/console/tasks', text: 'My tasks' },
  { server: 'deal', path: '/console/proposals', text: 'Proposals', right: 'proposal.decide' },
  { server: 'auth', path: '/account', text: 'Account' },
]

/** What administrators look after, in order. */
export const administrationPages: readonly NavigationEntry[] = [
  { server: 'auth', path: '/account/users', text: 'Users', right: 'user.manage' },
  { server: 'auth', path: '/account/roles', text: 'Roles', right: 'user.manage' },
  { server: 'auth', path: '/account/resource-servers', text: 'Resource servers', right: 'resource-server.manage' },
  { server: 'auth', path: '/account/services', text: 'Services', right: 'resource-server.manage' },
  { server: 'auth', path: '/account/clients', text: 'Clients', right: 'client.manage' },
  { server: 'auth', path: '/account/all-api-keys', text: 'API keys', right: 'api-key.manage' },
  { server: 'deal', path: '/console/webhooks', text: 'Webhooks', right: 'webhook.manage' },
  { server: 'auth', path: '/account/audit', text: 'Audit', right: 'audit.read' },
  { server: 'auth', path: '/account/keys', text: 'Signing keys', right: 'key.read' },
]
