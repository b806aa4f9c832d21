/** The settings of traces, named as the OpenTelemetry specification names them. Both servers read them. */
import * as z from 'zod'
import { flag, oneOf, readBy, type Setting, text, url, type Values } from '../../platform/settings/settings.ts'
import { samplerNames, type TracingSettings } from '../../platform/tracing/tracing-settings.ts'

/** `key=value` pairs with commas between, percent-encoded; undefined for other text. */
function readPairs(list: string): Readonly<Record<string, string>> | undefined {
  const pairs = list.split(',').map((pair) => /^\s*([^=\s"'`]+)\s*=\s*(.*?)\s*$/.exec(pair))
  try {
    const entries = pairs.map((pair) => [decodeURIComponent(pair?.[1] ?? ''), decodeURIComponent(pair?.[2] ?? '')])
    return entries.every(([key]) => key !== '') ? Object.fromEntries(entries) : undefined
  } catch {
    return undefined
  }
}

const pairs = (meaning: string): Setting<Readonly<Record<string, string>> | undefined> => ({
  meaning,
  expected: 'key=value pairs with commas between, percent-encoded',
  fallback: undefined,
  schema: readBy(readPairs),
})

/** A name of a header field (RFC 9110 §5.1), and a value that Node.js sends. */
const isField = ([name, value]: readonly [string, string]): boolean =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)

const fields = (meaning: string): Setting<Readonly<Record<string, string>> | undefined> => ({
  ...pairs(meaning),
  schema: readBy((list) => {
    const read = readPairs(list)
    return read && Object.entries(read).every(isField) ? read : undefined
  }),
})

const share: Setting<number> = {
  meaning: 'the share of traces that traceidratio and parentbased_traceidratio record',
  expected: 'a number from 0 to 1, such as 0.05',
  fallback: 1,
  schema: z.preprocess(
    (share) => (/^\d*\.?\d{1,9}$/.test(String(share)) ? Number(share) : undefined),
    z.number().max(1),
  ),
}

/** The settings. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: url(
    'the collector that gets traces, by OTLP over HTTP as JSON, at /v1/traces below this URL; without it and without ' +
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT there are no traces, and they cost nothing',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url('the same, as the whole URL; it goes before the other'),
  OTEL_EXPORTER_OTLP_HEADERS: fields('header fields of the requests to the collector, such as its credential'),
  OTEL_SERVICE_NAME: text('the attribute service.name of traces', undefined),
  OTEL_RESOURCE_ATTRIBUTES: pairs('further attributes of the server in its traces'),
  OTEL_TRACES_SAMPLER: oneOf('which traces are recorded', samplerNames, 'parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: share,
  OTEL_SDK_DISABLED: flag('no traces, whatever the other settings say', false),
}

/** What the settings say; undefined when there are no traces. */
export function tracingConfig(values: Values<typeof tracingSettings>): TracingSettings | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = values
  const target = own ?? (base && `${base.replace(/\/+$/, '')}/v1/traces`)
  if (target === undefined || values.OTEL_SDK_DISABLED) return undefined
  return {
    url: target,
    headers: values.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    serviceName: values.OTEL_SERVICE_NAME,
    resource: values.OTEL_RESOURCE_ATTRIBUTES ?? {},
    sampler: values.OTEL_TRACES_SAMPLER,
    ratio: values.OTEL_TRACES_SAMPLER_ARG,
  }
}
