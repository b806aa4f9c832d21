/**
 * The publisher of a worker: the primary process publishes for all workers of its machine, and each worker asks it.
 * Follows the publisher's rules: callers wait for their change, a second at most (docs/contract.md#freshness).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { withDeadline } from '../../shared/platform/concurrency/deadline.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { type Channel, defineCall, defineNews } from '../../shared/platform/workers/channel.ts'
import type { Workers } from '../../shared/platform/workers/primary.ts'
import { heartbeatIntervalMs } from '../../shared/protocol/principal/change-feed.ts'
import type { InstancePrincipal } from '../../shared/protocol/principal/record.ts'
import type { PrincipalPublisher, PublisherHealth } from './principal-publisher.ts'

/** What a worker is told about publishing. */
interface PublisherState {
  readonly health: PublisherHealth
  /** Undefined while the database does not answer. */
  readonly instanceId: string | undefined
}

const publishCall = defineCall<undefined, boolean>('publish')
const waitCall = defineCall<number, void>('wait-until-published')
const reloadCall = defineCall<string, void>('reload')
const fillCall = defineCall<string, InstancePrincipal>('fill')
const instanceCall = defineCall<undefined, string>('instance-id')
const stateCall = defineCall<undefined, PublisherState>('publisher-state')
const otherInstanceNews = defineNews<undefined>('other-instance')

/** How long a caller waits at most for its change, in milliseconds: as long as in the primary process, and the way. */
const publishWithinMs = 1_100

/** Serves the workers of this machine with `publisher`. */
export function publishForWorkers(workers: Workers, publisher: PrincipalPublisher): void {
  workers.answer(publishCall, () => publisher.publish())
  workers.answer(waitCall, (version) => publisher.waitUntilPublished(version))
  workers.answer(reloadCall, (username) => publisher.reloaded(username))
  workers.answer(fillCall, (username) => publisher.fill(username))
  workers.answer(instanceCall, () => publisher.instanceId())
  workers.answer(stateCall, async () => ({
    health: publisher.health(),
    instanceId: await publisher.instanceId().catch(() => undefined),
  }))
  publisher.onOtherInstance(() => workers.tell(otherInstanceNews, undefined))
}

/** The publisher of a worker. */
export function createPublisherOfWorker(channel: Channel, log: Pick<Log, 'warn'>): PrincipalPublisher {
  const listeners: (() => void)[] = []
  const changeListeners: (() => void)[] = []
  const missing: PublisherHealth = { upTo: undefined, ageMs: undefined, problem: 'the primary process does not answer' }
  let health = missing
  let instanceId: string | undefined
  let heartbeat: AbortController | undefined
  const orLog = (work: Promise<void>) =>
    withDeadline(work, publishWithinMs).catch((err: unknown) =>
      log.warn({ err }, 'The primary process did not publish a change'),
    )
  channel.hear(otherInstanceNews, () => {
    instanceId = undefined
    for (const listener of listeners) listener()
  })
  const ask = async () => {
    try {
      const state = await channel.call(stateCall, undefined)
      health = state.health
      instanceId = state.instanceId
    } catch {
      health = missing
    }
  }
  const beat = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      await ask()
      await sleep(heartbeatIntervalMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
  return {
    start: () => {
      heartbeat ??= new AbortController()
      void beat(heartbeat.signal)
    },
    stop: async () => heartbeat?.abort(),
    publish: () => channel.call(publishCall, undefined).catch(() => false),
    waitUntilPublished: (version) => {
      for (const listener of changeListeners) listener()
      return orLog(channel.call(waitCall, version))
    },
    reloaded: (username) => orLog(channel.call(reloadCall, username)),
    fill: (username) => channel.call(fillCall, username),
    instanceId: async () => instanceId ?? channel.call(instanceCall, undefined),
    onOtherInstance: (listener) => void listeners.push(listener),
    onChange: (listener) => void changeListeners.push(listener),
    health: () => health,
  }
}
