import { type Owned, owns, type UserIdentity } from '../domain/own-deals.ts'
import type { DealList, DealReader } from './ports.ts'

/**
 * The reads of a user who reads own deals alone. Another deal is as one that never was: `load` says of both that the
 * deal was purged, so that their past stays hidden.
 */
export function createOwnReader(reader: DealReader, user: UserIdentity): DealReader {
  const own = <Found extends Owned>(deal: Found | undefined) => (deal && owns(user, deal) ? deal : undefined)
  const filtered = <Request extends Pick<DealList, 'filter'>>(request: Request): Request => ({
    ...request,
    filter: { ...request.filter, owner: user },
  })
  return {
    owner: user,
    load: async (...given) => {
      const { deal, command } = await reader.load(...given)
      const visible = own(deal)
      return { deal: visible, command, purged: visible === undefined }
    },
    loadText: async (dealId) => own(await reader.loadText(dealId)),
    list: (list) => reader.list(filtered(list)),
    count: (filter, isExact) => reader.count({ ...filter, owner: user }, isExact),
    summarize: (request) => reader.summarize(filtered(request)),
    listCommands: (dealId, page) => reader.listCommands(dealId, page, user),
    history: (dealId, page) => reader.history(dealId, page, user),
    assignedTasks: (assignee, page) => reader.assignedTasks(assignee, page, user),
    listProposals: reader.listProposals,
    loadProposal: reader.loadProposal,
  }
}
