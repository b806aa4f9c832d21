import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { owns } from '../domain/own-deals.ts'
import { isRefusal } from '../domain/refusal.ts'
import { assignableUserOf, isSameUser } from './assignable-users.ts'
import { defineDealCommand } from './define-use-case.ts'
import { username } from './parameters.ts'

/** Gives a deal another owner, who must be an enabled user. */
export const assignOwner = defineDealCommand({
  name: 'AssignOwner',
  summary: 'Assign the owner of a deal',
  right: 'deal.assign-owner',
  verb: 'assign-owner',
  stateName: 'owner-assigned',
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
    const data = { old: deal.ownerId, ...ofOld, new: owner.username, newUserId: owner.userId }
    return [{ type: 'deal.owner-assigned', data }]
  },
})
