/**
 * The pages of metrics of several workers as one page: each value gets the label `worker`. Prometheus wants all values
 * of a metric together, below its description.
 */
export function mergeMetrics(pages: ReadonlyMap<number, string>): string {
  const metrics = new Map<string, string[]>()
  for (const [worker, page] of pages) {
    for (const metric of page.split(/^(?=# HELP )/m)) {
      const [help = '', type = '', ...values] = metric.trimEnd().split('\n')
      const description = `${help}\n${type}`
      const labelled = values.map((value) => withWorker(value, worker))
      metrics.set(description, [...(metrics.get(description) ?? []), ...labelled])
    }
  }
  return [...metrics].map(([description, values]) => `${[description, ...values].join('\n')}\n`).join('\n')
}

/** `name 1` and `name{a="b"} 1`, each with the label. */
const withWorker = (value: string, worker: number): string =>
  value.replace(/^([\w:]+)(\{?)/, (_, name, labels) =>
    labels === '' ? `${name}{worker="${worker}"}` : `${name}{worker="${worker}",`,
  )
