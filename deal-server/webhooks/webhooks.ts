/** The webhooks of one deal server: their management, and the work of sending events. */
import { Permits } from '../../shared/platform/concurrency/permits.ts'
import { createSharedCalls } from '../../shared/platform/concurrency/share-calls.ts'
import { createGuardedPost, type Resolve } from '../../shared/platform/webhooks/guarded-post.ts'
import type { Network } from '../../shared/platform/webhooks/reachable-address.ts'
import type { EventLog, EventPage, ReadOptions } from '../events/event-log.ts'
import type { EventSystems } from '../events/event-systems.ts'
import type { Place } from '../events/position.ts'
import { createDeliver } from './deliver.ts'
import { Dispatcher } from './dispatcher.ts'
import { createWebhookManagement, type WebhookManagement } from './manage.ts'
import { type WebhookOptions, webhookDefaults } from './options.ts'
import { createWebhookSecrets, resealAll } from './secrets.ts'
import type { WebhookSystems } from './webhook-systems.ts'

interface WebhookConfig {
  readonly timeoutMs: number
  readonly retriesMs: readonly number[]
  readonly allowedNetworks: readonly Network[]
}

/** What the deal server gives to its webhooks. */
export type WebhookParts = EventSystems &
  Pick<WebhookSystems, 'store' | 'work' | 'principals' | 'report' | 'onAttempt'> & {
    /** All accepted values of SERVICE_SECRET. */
    readonly serviceSecrets: readonly string[]
  }

/** What tests set otherwise. */
export interface WebhookTuning extends Partial<Omit<WebhookOptions, 'owner'>> {
  readonly resolve?: Resolve
  readonly timeoutMs?: number
  /** Further authorities of certificates. */
  readonly ca?: string
}

/** The webhooks of one server. */
export interface Webhooks extends Pick<Dispatcher, 'wakeUp' | 'health'> {
  readonly management: WebhookManagement
  start(): void
  stop(): Promise<void>
}

/** Makes the webhooks of one server. */
export function createWebhooks(parts: WebhookParts, config: WebhookConfig, tuning: WebhookTuning = {}): Webhooks {
  const { store, clock, ids, log, tracing } = parts
  const { allowedNetworks, retriesMs } = config
  const { resolve, ca, timeoutMs = config.timeoutMs, ...others } = tuning
  const options = { ...webhookDefaults, retriesMs, ...others, owner: ids.uuid() }
  const secrets = createWebhookSecrets(parts.serviceSecrets)
  const plainPost = createGuardedPost({ allowed: allowedNetworks, timeoutMs, resolve, ca })
  const post = tracing?.post(plainPost) ?? plainPost
  const systems: WebhookSystems = {
    ...parts,
    eventLog: createSharedReads(parts.eventLog),
    secrets,
    deliver: createDeliver(post, secrets, clock),
    permits: new Permits(options.maxRequests),
    random: Math.random,
  }
  const dispatcher = new Dispatcher(systems, options)
  return {
    management: createWebhookManagement({ ...systems, allowedNetworks, onChange: () => void dispatcher.look() }),
    wakeUp: () => dispatcher.wakeUp(),
    health: () => dispatcher.health(),
    start: () => {
      resealAll(store, secrets).catch((err: unknown) => log.warn({ err }, 'Secrets of webhooks stay as they are'))
      dispatcher.start()
    },
    stop: async () => {
      await dispatcher.stop()
      post.close()
    },
  }
}

/**
 * The same log. Callers that read from one place at one time share a read: a wake-up wakes all webhooks of a server,
 * and those that have caught up are at one place.
 */
function createSharedReads(log: EventLog): EventLog {
  const reads = createSharedCalls<EventPage>()
  return {
    ...log,
    read: (after: Place, options: ReadOptions) => {
      const key = JSON.stringify([after.position, options.limit, options.hidesDeleted])
      return reads.share(key, () => log.read(after, options))
    },
  }
}
