/** What every server uses beside its database, opened by its settings. */
import type { Cache } from '../cache/cache.ts'
import { reportForgeries } from '../cache/report-forgeries.ts'
import { type Clock, systemClock } from '../clock.ts'
import { type Certificate, type CertificateFiles, openCertificate } from '../http/server/certificate.ts'
import { createIdSource, type IdSource } from '../ids.ts'
import type { Log } from '../log/log.ts'
import { observeCertificate } from '../metrics/certificate-metrics.ts'
import { createMetrics, type Metrics, type ServerName } from '../metrics/metrics.ts'
import { projectVersion } from '../project-folder.ts'
import { openCache } from '../redis/open-cache.ts'
import { openTracing } from '../tracing/opentelemetry/open-tracing.ts'
import type { Tracing } from '../tracing/tracing.ts'
import type { TracingSettings } from '../tracing/tracing-settings.ts'
import { generatedSecret } from './generated-secrets.ts'

/** The settings by which resources are opened. */
export interface ResourceSettings {
  readonly redisUrl: string | undefined
  readonly dataDir: string
  /** All accepted values of SERVICE_SECRET; one is generated without them. */
  readonly serviceSecrets: readonly string[] | undefined
  readonly tls: CertificateFiles | undefined
  readonly tracing: TracingSettings | undefined
}

/** What a process uses beside its database. */
export interface Resources {
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Log
  readonly cache: Cache
  readonly metrics: Metrics
  readonly certificate: Certificate | undefined
  readonly serviceSecrets: readonly [string, ...string[]]
  /** Opens the traces of a server of this process; undefined when none are sent. */
  openTracing(server: ServerName): Promise<Tracing | undefined>
  close(): Promise<void>
}

/** Opens the resources of a process with these servers. Waits neither for Redis nor for the receiver of traces. */
export async function openResources(
  { redisUrl, dataDir, serviceSecrets, tls, tracing }: ResourceSettings,
  { log, servers }: { readonly log: Log; readonly servers: readonly ServerName[] },
): Promise<Resources> {
  const [clock, ids, metrics] = [systemClock, createIdSource(systemClock), createMetrics()]
  const certificate = await openCertificate(tls, { log })
  for (const server of servers) observeCertificate(metrics, server, certificate)
  const [first = await generatedSecret(dataDir, 'service-secret'), ...others] = serviceSecrets ?? []
  const secrets: Resources['serviceSecrets'] = [first, ...others]
  const forgeries = reportForgeries({ log, clock })
  for (const server of servers.slice(0, 1)) forgeries.observe(metrics, server)
  const cache = openCache({
    redisUrl,
    clock,
    secrets,
    onListenerError: (err) => log.error({ err }),
    onForgery: forgeries.note,
    onAdvice: (sentence) => log.warn(`REDIS_URL: ${sentence}`),
  })
  const traces: (Tracing | undefined)[] = []
  return {
    clock,
    ids,
    log,
    cache,
    metrics,
    certificate,
    serviceSecrets: secrets,
    openTracing: async (server) => {
      const place = { service: `keyhold-${server}`, version: projectVersion(), instance: ids.uuid(), log }
      const opened = await openTracing(tracing, place)
      traces.push(opened)
      return opened
    },
    close: async () => {
      await Promise.all(traces.map((opened) => opened?.close()))
      await cache.close()
    },
  }
}
