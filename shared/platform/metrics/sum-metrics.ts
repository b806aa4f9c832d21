import { AggregatorRegistry } from 'prom-client'
import type { MetricValues } from './metrics.ts'

/**
 * The metrics of several processes as those of one: counters and histograms are added up, gauges as they say
 * themselves. Metrics of a single process, such as its start, are those of the first one.
 */
const together = (processes: readonly MetricValues[]) =>
  AggregatorRegistry.aggregate(
    processes.map((values) =>
      values.map((metric) => ({ ...metric, aggregator: ofFirst(metric.aggregator) ? 'first' : metric.aggregator })),
    ),
  )

const ofFirst = (aggregator: string): boolean => aggregator === 'omit'

/** The text of `/metrics` for several processes. */
export const sumText = (processes: readonly MetricValues[]): Promise<string> => together(processes).metrics()

/** What several processes have counted, without their gauges. */
export const sumCounts = (processes: readonly MetricValues[]): Promise<MetricValues> =>
  together(processes.map((values) => values.filter(isCount))).getMetricsAsJSON()

const isCount = ({ type }: { readonly type: unknown }): boolean => type === 'counter' || type === 'histogram'
