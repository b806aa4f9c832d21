import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { anchorsOf, codeSpansIn, partsOf, rowsIn, sectionOf, wholePage } from '../../docs/markdown.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { hasProgram, read, run } from './tools.ts'

const folder = 'deploy/prometheus'
const operations = wholePage('operations.md')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook: string }
}
interface Board {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[]
}

const { groups } = parse(read(`${folder}/prometheus-rules.yml`)) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const board = JSON.parse(read('deploy/grafana/keyhold.json')) as Board
const expressions = board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** The metrics that an expression names, without the suffixes of a histogram. */
const metricsIn = (expr: string): string[] =>
  [...expr.matchAll(/\b(?:keyhold|nodejs|process)_\w+/g)].map(([name]) => name.replace(/_(?:bucket|count|sum)$/, ''))

/** The rows of the table of metrics: name and alarm. */
const documented = rowsIn(sectionOf(operations, 'Metrics and alarms'))
  .slice(1)
  .map(([name = '', , , alarm = '']) => ({ name: codeSpansIn(name)[0] ?? '', alarm }))

describe('the alerts of Prometheus', () => {
  it.skipIf(!hasProgram('promtool'))('are valid, each fires when it should and is silent when it should', () => {
    const checked = run('promtool', ['check', 'rules', `${folder}/prometheus-rules.yml`])
    expect(checked.status, checked.output).toBe(0)
    const tested = run('promtool', ['test', 'rules', `${folder}/prometheus-rules.test.yml`])
    expect(tested.status, tested.output).toBe(0)
  })

  it('have a test for firing and one for silence each', () => {
    const { tests } = parse(read(`${folder}/prometheus-rules.test.yml`)) as { tests: { name: string }[] }
    const wanted = rules.flatMap(({ alert }) => [`${alert} fires`, `${alert} is silent`])
    expect(tests.map(({ name }) => name)).toEqual(wanted)
  })

  it('cover every alarm of docs/operations.md that is about a metric', () => {
    const watched = new Set(rules.flatMap(({ expr }) => metricsIn(expr)))
    const aboutMetrics = documented.filter(({ alarm }) => !/^(?:log line .*|-|–|—|)$/.test(alarm))
    expect(aboutMetrics.length).toBeGreaterThan(15)
    expect(aboutMetrics.filter(({ name }) => !watched.has(name)).map(({ name }) => name)).toEqual([])
  })

  it('name a chapter of docs/operations.md each', () => {
    const anchors = new Set(
      partsOf('operations.md').flatMap((part) => anchorsOf(read(`docs/${part}`)).map((one) => `docs/${part}#${one}`)),
    )
    expect(rules.map(({ annotations }) => annotations.runbook).filter((runbook) => !anchors.has(runbook))).toEqual([])
  })
})

describe('every metric of the alerts and of the board', () => {
  let stack: Stack
  beforeAll(async () => {
    stack = await openStack(openEmbedded)
  })
  afterAll(() => stack.close())

  it('is one that the servers have', async () => {
    const texts = await Promise.all([stack.auth, stack.deal].map((server) => server.send('/metrics')))
    const served = texts.flatMap(({ text }) => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
    const named = [...rules.map(({ expr }) => expr), ...expressions].flatMap(metricsIn)
    expect(named.length).toBeGreaterThan(30)
    expect([...new Set(named)].filter((name) => !served.includes(name))).toEqual([])
  })

  it('has a place on the board, if it has one in docs/operations.md', () => {
    const shown = new Set(expressions.flatMap(metricsIn))
    expect(documented.filter(({ name }) => !shown.has(name)).map(({ name }) => name)).toEqual([])
  })
})
