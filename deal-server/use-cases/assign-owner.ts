import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { changed, defineEvent } from '../domain/events.ts'
import { owns } from '../domain/own-deals.ts'
import { isRefusal } from '../domain/refusal.ts'
import { assignableUserOf, isSameUser } from './assignable-users.ts'
import { defineDealCommand } from './define-use-case.ts'
import { username } from './parameters.ts'

interface NewOwner {
  readonly old: string
  readonly new: string
  /** The immutable ids of both; absent in old events, which were written without ids. */
  readonly oldUserId?: string
  readonly newUserId?: string
}

const ownerAssigned = defineEvent({
  type: 'deal.owner-assigned',
  phrase: 'changed the owner',
  details: (facts) => [changed(facts.text('old'), facts.text('new'))],
  apply: (deal, data: NewOwner) => ({ ...deal, ownerId: data.new, ownerUserId: data.newUserId ?? null }),
})

/** Gives a deal another owner, who must be an enabled user. */
export const assignOwner = defineDealCommand({
  name: 'AssignOwner',
  summary: 'Assign the owner of a deal',
  right: {
    name: 'deal.assign-owner',
    description: 'Assign owners',
    own: 'Give own deals to another owner',
  },
  verb: 'assign-owner',
  stateName: 'owner-assigned',
  words: { title: 'Assign the owner', done: 'The deal has its new owner.' },
  events: [ownerAssigned],
  refusals: ['deal-closed', 'employee-unknown'],
  params: z.strictObject({ employeeId: username }),
  attributes: { employeeId: 'ownerId' },
  guard: requireOpen,
  assignableUsers: ({ employeeId }) => [employeeId],
  decide: (deal, { employeeId }, context) => {
    const owner = assignableUserOf(employeeId, 'employeeId', context)
    // The owner may have been disabled since.
    if (isRefusal(owner)) return isSameUser(deal.ownerId, employeeId) ? [] : owner
    if (owns(owner, deal)) return []
    const ofOld = deal.ownerUserId == null ? {} : { oldUserId: deal.ownerUserId }
    return [ownerAssigned({ old: deal.ownerId, ...ofOld, new: owner.username, newUserId: owner.userId })]
  },
})
