import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { TracedServer } from '../tracing.ts'
import type { TracingSettings } from '../tracing-settings.ts'

/**
 * Sends spans by OTLP over HTTP, as JSON. An outage of the collector is one line in the log, and its end another one.
 * The lines name no URL and no field, which may hold secrets.
 */
export function createExporter(
  { url, headers }: Pick<TracingSettings, 'url' | 'headers'>,
  { service, log }: Pick<TracedServer, 'service' | 'log'>,
): SpanExporter {
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers } })
  let isAway = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result
        if (error !== undefined && !isAway)
          log.warn({ service, reason: reasonOf(error) }, 'Traces cannot be sent: spans are lost')
        if (error === undefined && isAway) log.info({ service }, 'Traces are sent again')
        isAway = error !== undefined
        done(result)
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
}

/** The status of the collector, the code of the system, or the name of the error. */
function reasonOf(error: Error & { readonly code?: unknown }): string {
  const { code, name } = error
  return typeof code === 'number' ? `the collector answered ${code}` : typeof code === 'string' ? code : name
}
