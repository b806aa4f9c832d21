import { expect, it } from 'vitest'
import { mergeMetrics } from '../../../../shared/platform/workers/merge-metrics.ts'

const page = (count: number) =>
  [
    '# HELP requests_total Requests.',
    '# TYPE requests_total counter',
    `requests_total{route="/a {b}",status="200"} ${count}`,
    '',
    '# HELP up Seconds since the start.',
    '# TYPE up gauge',
    'up 1.5e-7',
    '',
    '# HELP nothing Never measured.',
    '# TYPE nothing gauge',
    '',
  ].join('\n')

it('puts the values of a metric together, each with the number of its worker', () => {
  const pages = new Map([
    [1, page(3)],
    [4, page(5)],
  ])
  expect(mergeMetrics(pages).split('\n')).toEqual([
    '# HELP requests_total Requests.',
    '# TYPE requests_total counter',
    'requests_total{worker="1",route="/a {b}",status="200"} 3',
    'requests_total{worker="4",route="/a {b}",status="200"} 5',
    '',
    '# HELP up Seconds since the start.',
    '# TYPE up gauge',
    'up{worker="1"} 1.5e-7',
    'up{worker="4"} 1.5e-7',
    '',
    '# HELP nothing Never measured.',
    '# TYPE nothing gauge',
    '',
  ])
})

it('is empty without workers', () => {
  expect(mergeMetrics(new Map())).toBe('')
})
