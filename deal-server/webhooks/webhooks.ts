/** The webhooks of one deal server: their management, and the work of sending events. */
import type { Clock } from '../../shared/platform/clock.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { createGuardedPost, type GuardedPost, type Resolve } from '../../shared/platform/webhooks/guarded-post.ts'
import type { Network } from '../../shared/platform/webhooks/reachable-address.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import type { EventLog, LoggedEvent } from '../events/event-log.ts'
import { type Delivery, deliver, type Receiver } from './deliver.ts'
import { createDispatcher, type Dispatcher, type DispatcherOptions, dispatcherDefaults } from './dispatcher.ts'
import { createWebhookManagement, type WebhookManagement } from './manage.ts'
import type { Attempt, UnreportedPause, WebhookStore, WebhookWork } from './ports.ts'
import { createPauseReports } from './report-pauses.ts'
import { createFindStanding, loadWithGenerations } from './responsible.ts'
import { createWebhookSecrets, resealAll } from './secrets.ts'

/** The settings of webhooks. */
export interface WebhookConfig {
  readonly timeoutMs: number
  readonly retriesMs: readonly number[]
  readonly allowedNetworks: readonly Network[]
}

/** The parts that webhooks use. */
export interface WebhooksPorts {
  readonly store: WebhookStore
  readonly work: WebhookWork
  readonly log: EventLog
  readonly principals: Pick<Principals, 'get'>
  /** Makes the envelope of an event. */
  readonly represent: (event: LoggedEvent) => object
  /** True when the auth server has stored the report. @throws Unavailable */
  readonly report: (pauses: readonly UnreportedPause[]) => Promise<boolean>
  /** All accepted values of SERVICE_SECRET. */
  readonly serviceSecrets: readonly string[]
  /** The value of `User-Agent`. */
  readonly userAgent: string
  /** Makes the messages spans of traces; without it, there are no spans. */
  readonly tracePost?: ((post: GuardedPost) => GuardedPost) | undefined
  readonly clock: Clock
  readonly ids: Pick<IdSource, 'uuid'>
  readonly logger: Pick<Log, 'warn' | 'info'>
  readonly onAttempt: (attempt: Attempt) => void
}

/** What tests set otherwise. */
export interface WebhookTuning extends Partial<Omit<DispatcherOptions, 'owner'>> {
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
export function createWebhooks(ports: WebhooksPorts, config: WebhookConfig, tuning: WebhookTuning = {}): Webhooks {
  const { store, work, log, clock, ids, logger, onAttempt, principals, represent } = ports
  const { resolve, ca, timeoutMs = config.timeoutMs, ...others } = tuning
  const secrets = createWebhookSecrets(ports.serviceSecrets)
  const rule = { allowed: config.allowedNetworks, timeoutMs }
  const plainPost = createGuardedPost({ ...rule, ...(resolve ? { resolve } : {}), ...(ca ? { ca } : {}) })
  const post = ports.tracePost?.(plainPost) ?? plainPost
  const attempt = (receiver: Receiver, sent: { readonly delivery: Delivery; readonly signal?: AbortSignal }) =>
    deliver({ post, secrets, clock, userAgent: ports.userAgent }, receiver, sent)
  const reportPauses = createPauseReports({ work, report: ports.report, logger })
  const dispatcher = createDispatcher(
    {
      log,
      represent,
      clock,
      logger,
      onAttempt,
      deliver: attempt,
      random: Math.random,
      work: { ...work, load: loadWithGenerations(work, principals) },
      findStanding: createFindStanding(principals),
      onPause: ({ id }, reason) => {
        logger.warn({ webhook: id, reason }, 'A webhook is paused')
        void reportPauses(0)
      },
      onMissingReport: () => void reportPauses(reportedLateMs),
    },
    { ...dispatcherDefaults, retriesMs: config.retriesMs, ...others, owner: ids.uuid() },
  )
  const { allowedNetworks } = config
  return {
    management: createWebhookManagement({
      store,
      log,
      secrets,
      deliver: attempt,
      allowedNetworks,
      clock,
      ids,
      onChange: () => void dispatcher.look(),
    }),
    wakeUp: () => dispatcher.wakeUp(),
    health: () => dispatcher.health(),
    start: () => {
      resealAll(store, secrets).catch((err: unknown) => logger.warn({ err }, 'Secrets of webhooks stay as they are'))
      dispatcher.start()
    },
    stop: async () => {
      await dispatcher.stop()
      post.close()
    },
  }
}

/** Before this time the server that paused a webhook reports it itself, in milliseconds. */
const reportedLateMs = 60_000
