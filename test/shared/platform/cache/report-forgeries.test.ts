import { expect, it } from 'vitest'
import { reportForgeries } from '../../../../shared/platform/cache/report-forgeries.ts'
import { createMetrics } from '../../../../shared/platform/metrics/metrics.ts'

it('counts forgeries, and logs them at most once a minute', async () => {
  let now = 0
  const lines: object[] = []
  const clock = { now: () => now, monotonic: () => now }
  const report = reportForgeries({ log: { warn: (facts: object) => void lines.push(facts) }, clock })
  const metrics = createMetrics()
  report.observe(metrics, 'deal')
  expect(await metrics.text()).toContain('keyhold_cache_forgeries_total{server="deal",kind="entry"} 0')
  for (let count = 0; count < 100; count += 1) report.note('entry')
  expect(lines).toEqual([{ forgery: 'entry', entry: 1, message: 0 }])
  now += 60_000
  report.note('message')
  expect(lines.slice(1)).toEqual([{ forgery: 'message', entry: 100, message: 1 }])
  expect(await metrics.text()).toContain('keyhold_cache_forgeries_total{server="deal",kind="entry"} 100')
})
