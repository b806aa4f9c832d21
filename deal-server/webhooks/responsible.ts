/**
 * The user under whose rights events are sent. A webhook outlives the login that made it. So its rights are those of
 * the user, looked at before every read and every request, and the webhook is paused when they are gone.
 */
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { type Sight, sightOf } from '../domain/sight.ts'
import type { LoadedWebhook, PauseReason, Responsible } from './ports.ts'
import type { WebhookSystems } from './webhook-systems.ts'

/** The right to manage webhooks. */
export const managingRight = 'webhook.manage'

/** The rights that a webhook borrows from this user, in either width. */
export const lentRights = ['deal.read', 'deal.history.read'] as const

/** What this user must be allowed to, all the time. */
export const webhookRights = [managingRight, ...lentRights] as const

/**
 * What the responsible user may see now, or why nothing may be sent any more. Undefined while it cannot be known.
 */
export async function standingOf(
  { principals }: WebhookSystems,
  { username, userId, seesDeleted, generation }: Responsible,
): Promise<Sight | { readonly pause: PauseReason } | undefined> {
  try {
    const record = await principals.get(username)
    if (!record?.enabled || record.userId !== userId) return { pause: 'responsible-disabled' }
    if (generation !== null && record.generation > generation) return { pause: 'responsible-logged-out' }
    const sight = sightOf({ username: record.username, userId, rights: new Set(record.rights) }, webhookRights)
    if (sight.deals === undefined) return { pause: 'responsible-lacks-right' }
    return seesDeleted ? sight : { ...sight, deleted: undefined }
  } catch (error) {
    if (error instanceof Unavailable) return undefined
    throw error
  }
}

/**
 * Loads webhooks; those without a credential generation take the present one of their user.
 * @throws Unavailable when it cannot be known
 */
export async function loadWithGenerations(
  { work, principals }: WebhookSystems,
  owner: string,
  ids: readonly string[],
): Promise<LoadedWebhook[]> {
  const all = await work.load(owner, ids)
  return Promise.all(
    all.map(async (loaded) => {
      const { webhook } = loaded
      const { responsible } = webhook
      if (responsible.generation !== null) return loaded
      const record = await principals.get(responsible.username)
      if (record?.userId !== responsible.userId) return loaded
      const { generation } = record
      await work.adoptGeneration(webhook.id, generation)
      return { ...loaded, webhook: { ...webhook, responsible: { ...responsible, generation } } }
    }),
  )
}
