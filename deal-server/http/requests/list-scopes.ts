/** Which list a cursor of this server belongs to. One list in two styles has one scope: a walk may go on in the other. */
import type { ListScope } from '../../../shared/platform/http/pagination/cursors.ts'
import { foldUsername } from '../../../shared/protocol/principal/record.ts'
import type { DealFilter, DealSort } from '../../queries/ports.ts'

/** Deals; `filter` in the one form that all spellings of a query have. */
export const dealListScope = ({ filter, sort }: { filter: DealFilter; sort: DealSort }): ListScope => {
  const { status, held, ownerId, currency, priceMin, priceMax, completionFrom, completionTo, q } = filter
  return {
    list: 'deals',
    query: { status, held, ownerId, currency, priceMin, priceMax, completionFrom, completionTo, q, ...sort },
  }
}

/** What happened to a deal. */
export const historyScope = (dealId: string): ListScope => ({ list: 'history', query: { dealId } })

/** The commands of a deal. */
export const commandsScope = (dealId: string): ListScope => ({ list: 'commands', query: { dealId } })

/** The open tasks of a user. */
export const assignedTaskScope = (username: string): ListScope => ({
  list: 'assigned-tasks',
  query: { assigneeId: foldUsername(username) },
})
