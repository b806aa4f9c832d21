/**
 * The Prometheus metrics of a process. A process has one registry; where both servers run in one process, the label
 * `server` separates them. Names follow the conventions of Prometheus (base units, `_total`, `_seconds`). No label has
 * a value that a client can choose.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The server that a value belongs to: the value of the label `server`. */
export type ServerName = string

/** One value, with the labels beside `server`. */
export interface Reading {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** The description of a metric. */
export interface Measured {
  /** Without the prefix `keyhold_`. */
  readonly name: string
  readonly help: string
  /** The labels beside `server`. */
  readonly labels?: readonly string[]
}

/** The metrics of a process. A second call with the same name gives the same metric. */
export interface Metrics {
  /** The body of `/metrics`, in the text format of Prometheus. */
  text(): Promise<string>
  counter(measured: Measured): Counter
  histogram(measured: Measured & { readonly buckets: readonly number[] }): Histogram
  /** A value that is read when the metrics are read. A reading that fails is left out. */
  gauge(measured: Measured, server: ServerName, read: () => readonly Reading[] | Promise<readonly Reading[]>): void
  /** A total that is counted elsewhere and only grows. */
  total(measured: Measured, server: ServerName, read: () => readonly Reading[]): void
}

/** The media type of `/metrics`. */
export const metricsType = Registry.PROMETHEUS_CONTENT_TYPE

/** Gauges of the library that are named like counters, which `promtool check metrics` refuses. */
const misnamedMetrics = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

let nodeMetrics: Registry | undefined

/** The metrics of Node.js itself: collected once in a process, because their observers cannot be removed. */
function metricsOfNode(): Registry {
  if (nodeMetrics) return nodeMetrics
  nodeMetrics = new Registry()
  collectDefaultMetrics({ register: nodeMetrics })
  for (const name of misnamedMetrics) nodeMetrics.removeSingleMetric(name)
  return nodeMetrics
}

/** The metrics of one process, with those of Node.js itself. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const nodeRegistry = metricsOfNode()
  const readers = new Map<string, (() => Promise<void>)[]>()
  const once = <Metric>(name: string, make: () => Metric): Metric =>
    (registry.getSingleMetric(name) as Metric | undefined) ?? make()

  const configurationOf = ({ name, help, labels = [] }: Measured) => ({
    name: `keyhold_${name}`,
    help,
    labelNames: ['server', ...labels],
    registers: [registry],
  })
  const collected = (name: string) => {
    const all = readers.get(name) ?? []
    readers.set(name, all)
    return { all, collect: async () => void (await Promise.all(all.map((read) => read().catch(() => undefined)))) }
  }

  return {
    text: () => Registry.merge([nodeRegistry, registry]).metrics(),
    counter: (measured) => once(`keyhold_${measured.name}`, () => new Counter(configurationOf(measured))),
    histogram: (measured) =>
      once(
        `keyhold_${measured.name}`,
        () => new Histogram({ ...configurationOf(measured), buckets: [...measured.buckets] }),
      ),
    gauge: (measured, server, read) => {
      const { all, collect } = collected(measured.name)
      const gauge = once(`keyhold_${measured.name}`, () => new Gauge({ ...configurationOf(measured), collect }))
      all.push(async () => {
        for (const { labels = {}, value } of await read()) gauge.set({ server, ...labels }, value)
      })
    },
    total: (measured, server, read) => {
      const { all, collect } = collected(measured.name)
      const counter = once(`keyhold_${measured.name}`, () => new Counter({ ...configurationOf(measured), collect }))
      const seen = new Map<string, number>()
      all.push(async () => {
        for (const { labels = {}, value } of read()) {
          const key = JSON.stringify(labels)
          counter.inc({ server, ...labels }, Math.max(0, value - (seen.get(key) ?? 0)))
          seen.set(key, value)
        }
      })
    },
  }
}
