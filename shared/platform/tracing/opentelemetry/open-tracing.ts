import type { TracedServer, Tracing } from '../tracing.ts'
import type { TracingSettings } from '../tracing-settings.ts'

/** Opens the traces of a server; undefined without settings. The packages of OpenTelemetry are loaded here alone. */
export async function openTracing(
  settings: TracingSettings | undefined,
  server: TracedServer,
): Promise<Tracing | undefined> {
  if (settings === undefined) return undefined
  const { createTracing } = await import('./create-tracing.ts')
  return createTracing(settings, server)
}
