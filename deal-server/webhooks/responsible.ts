/**
 * The user under whose rights events are sent. A webhook outlives the login that made it. So its rights are those of
 * the user, looked at before every read and every request, and the webhook is paused when they are gone.
 */
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import { type Sight, sightOf } from '../domain/sight.ts'
import type { LoadedWebhook, PauseReason, Responsible, WebhookWork } from './ports.ts'

/** The right to manage webhooks. */
export const managingRight = 'webhook.manage'

/** The rights that a webhook borrows from this user, in either width. */
export const lentRights = ['deal.read', 'deal.history.read'] as const

/** What this user must be allowed to, all the time. */
export const webhookRights = [managingRight, ...lentRights] as const

/** What the responsible user may see now, or why nothing may be sent any more. */
export type Standing = Sight | { readonly pause: PauseReason }

/** Looks at the user's rights. @throws Unavailable when they cannot be known */
export type FindStanding = (responsible: Responsible) => Promise<Standing>

/** Finds it in the principal records. */
export const createFindStanding =
  (principals: Pick<Principals, 'get'>): FindStanding =>
  async ({ username, userId, seesDeleted, generation }) => {
    const record = await principals.get(username)
    if (!record?.enabled || record.userId !== userId) return { pause: 'responsible-disabled' }
    if (generation !== null && record.generation > generation) return { pause: 'responsible-logged-out' }
    const sight = sightOf({ username: record.username, userId, rights: new Set(record.rights) }, webhookRights)
    if (sight.deals === undefined) return { pause: 'responsible-lacks-right' }
    return seesDeleted ? sight : { ...sight, deleted: undefined }
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

/**
 * Loads webhooks; those without a credential generation take the present one of their user.
 * @throws Unavailable when it cannot be known
 */
export const loadWithGenerations =
  ({ load, adoptGeneration }: WebhookWork, principals: Pick<Principals, 'get'>): WebhookWork['load'] =>
  async (owner, ids) =>
    Promise.all(
      (await load(owner, ids)).map(async (loaded): Promise<LoadedWebhook> => {
        const { webhook } = loaded
        const { responsible } = webhook
        if (responsible.generation !== null) return loaded
        const record = await principals.get(responsible.username)
        if (record?.userId !== responsible.userId) return loaded
        const { generation } = record
        await adoptGeneration(webhook.id, generation)
        return { ...loaded, webhook: { ...webhook, responsible: { ...responsible, generation } } }
      }),
    )
