/**
 * The user under whose rights events are sent. A webhook outlives the login that made it. So its rights are those of
 * the user, looked at before every read and every request, and the webhook is paused when they are gone.
 */
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import type { PauseReason, Responsible } from './ports.ts'

/** What this user must be allowed to, all the time. */
export const webhookRights = ['webhook.manage', 'deal.read', 'deal.history.read'] as const

/** What the responsible user may see now, or why nothing may be sent any more. */
export type Standing = { readonly seesDeleted: boolean } | { readonly pause: PauseReason }

/** Looks at the user's rights. @throws Unavailable when they cannot be known */
export type FindStanding = (responsible: Responsible) => Promise<Standing>

/** Finds it in the principal records. `restoring` is the right to see deleted deals. */
export const createFindStanding =
  (principals: Pick<Principals, 'get'>, restoring: string): FindStanding =>
  async ({ username, userId, seesDeleted }) => {
    const record = await principals.get(username)
    if (!record?.enabled || record.userId !== userId) return { pause: 'responsible-disabled' }
    if (webhookRights.some((right) => !record.rights.includes(right))) return { pause: 'responsible-lacks-right' }
    return { seesDeleted: seesDeleted && record.rights.includes(restoring) }
  }

/** The same, as a question that has an answer at any time: undefined while it cannot be known. */
export async function standingNow(find: FindStanding, responsible: Responsible): Promise<Standing | undefined> {
  try {
    return await find(responsible)
  } catch (error) {
    if (error instanceof Unavailable) return undefined
    throw error
  }
}
