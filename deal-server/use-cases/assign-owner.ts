import { z } from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { isRefusal } from '../domain/refusal.ts'
import { defineDealCommand } from './define-use-case.ts'
import { employeeOf } from './employees.ts'
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
  guard: requireOpen,
  employees: ({ employeeId }) => [employeeId],
  decide: (deal, { employeeId }, context) => {
    const closed = requireOpen(deal)
    if (closed) return closed
    const owner = employeeOf(employeeId, 'employeeId', context)
    if (isRefusal(owner)) return owner
    return deal.ownerId === owner ? [] : [{ type: 'deal.owner-assigned', data: { old: deal.ownerId, new: owner } }]
  },
})
