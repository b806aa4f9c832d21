/** The samplers of the OpenTelemetry specification, by the names that OTEL_TRACES_SAMPLER has for them. */
export const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

/** Where traces are sent, which ones, and under what name. */
export interface TracingSettings {
  /** The URL that takes traces by OTLP over HTTP. */
  readonly url: string
  /** Header fields of these requests. They may hold secrets. */
  readonly headers: Readonly<Record<string, string>>
  /** The attribute `service.name`; the name of the server when undefined. */
  readonly serviceName: string | undefined
  /** Further attributes of the resource. */
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: (typeof samplerNames)[number]
  /** The share of the traces that a ratio sampler takes, from 0 to 1. */
  readonly ratio: number
}
