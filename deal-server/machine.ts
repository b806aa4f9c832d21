/** What the workers of a deal server leave to their primary process (docs/operations.md#workers). */
import { type Channel, defineCall, defineNews } from '../shared/platform/workers/channel.ts'
import type { Workers } from '../shared/platform/workers/primary.ts'
import type { WakeUpPorts, WakeUps } from './events/wake-ups.ts'
import type { Webhooks } from './webhooks/webhooks.ts'

/** A worker wrote events. */
const wakeUpCall = defineCall<undefined, void>('wake-up')
/** A worker changed a webhook. */
const webhookNews = defineNews<undefined>('webhook-changed')

/** The parts of the primary process that serve its workers. */
export interface PrimaryParts {
  readonly wakeUps: Pick<WakeUps, 'send'>
  readonly webhooks: Pick<Webhooks, 'look'>
}

/** Serves the workers. */
export function serveWorkers(primary: Workers, { wakeUps, webhooks }: PrimaryParts): void {
  primary.answer(wakeUpCall, () => wakeUps.send())
  primary.hear(webhookNews, () => webhooks.look())
}

/** The cache for wake-ups of a worker: the primary process sends one message for all workers. */
export const wakeUpsByPrimary = (
  cache: Pick<WakeUpPorts['cache'], 'subscribe'>,
  channel: Channel,
): WakeUpPorts['cache'] => ({
  subscribe: (name, listener) => cache.subscribe(name, listener),
  moment: async () => '',
  publish: async () => {
    await channel.call(wakeUpCall, undefined)
    return true
  },
})

/** Tells the primary process, which delivers to webhooks, that one was changed. */
export const webhookChanged = (channel: Channel) => (): void => void channel.tell(webhookNews, undefined)
