/**
 * Traces by the SDK of OpenTelemetry. Spans wait in a bounded queue; when it is full, further ones are lost, and no
 * request waits. The SDK itself reads the settings of this queue (OTEL_BSP_*), of limits (OTEL_SPAN_*,
 * OTEL_ATTRIBUTE_*) and of the exporter (time limit, compression, certificates) from the environment.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import type { TracedServer, Tracing } from '../tracing.ts'
import type { TracingSettings } from '../tracing-settings.ts'
import { createExporter } from './exporter.ts'
import { createSpans } from './spans.ts'
import { traceDatabase } from './traced-database.ts'
import { createTraceRequest, traceFetch, tracePost } from './traced-requests.ts'

/** How long a server that ends waits for the collector, in milliseconds. */
const closeMaxMs = 2_000

/** Makes the traces of one server. */
export function createTracing(settings: TracingSettings, server: TracedServer): Tracing {
  const { service, version, instance } = server
  const random = new RandomIdGenerator()
  let ownTraceId: string | undefined
  const provider = new BasicTracerProvider({
    sampler: samplerOf(settings),
    resource: resourceFromAttributes({
      'service.name': settings.serviceName ?? settings.resource['service.name'] ?? service,
      'service.version': version,
      'service.instance.id': instance,
      ...withoutName(settings.resource),
    }),
    idGenerator: {
      generateSpanId: () => random.generateSpanId(),
      generateTraceId: () => {
        const traceId = ownTraceId ?? random.generateTraceId()
        ownTraceId = undefined
        return traceId
      },
    },
    spanProcessors: [new BatchSpanProcessor(createExporter(settings, server))],
  })
  const spans = createSpans(provider.getTracer('keyhold', version))
  return {
    traceRequest: createTraceRequest(spans, (traceId) => {
      ownTraceId = traceId
    }),
    database: (database) => traceDatabase(database, spans),
    fetch: (fetch) => traceFetch(fetch, spans),
    post: (post) => tracePost(post, spans),
    close: async () => {
      // The exporter has said why when spans cannot be sent.
      await Promise.race([provider.shutdown().catch(() => undefined), pause(closeMaxMs, undefined, { ref: false })])
    },
  }
}

const withoutName = ({ 'service.name': _name, ...others }: TracingSettings['resource']) => others

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const root = sampler.endsWith('always_off')
    ? new AlwaysOffSampler()
    : sampler.endsWith('ratio')
      ? new TraceIdRatioBasedSampler(ratio)
      : new AlwaysOnSampler()
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}
