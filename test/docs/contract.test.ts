import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { authSettings, operatorSettings } from '../../auth-server/config.ts'
import { builtInRights } from '../../auth-server/principals/rights.ts'
import { callerVariables } from '../../cli/context/config.ts'
import { dealSettings } from '../../deal-server/config.ts'
import { shownFields } from '../../deal-server/domain/deal-fields.ts'
import { dealEventTypes } from '../../deal-server/use-cases/apply-events.ts'
import { commands } from '../../deal-server/use-cases/index.ts'
import { schemeNames } from '../../shared/protocol/authentication/scheme.ts'
import { explainedProblems } from '../../shared/protocol/problems/catalogue.ts'
import { type Document, describedIn } from '../support/clients/openapi.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack } from '../support/worlds/stack.ts'
import {
  type Cell,
  type DealState,
  dealStates,
  isProblemCode,
  transitionTable,
} from '../support/worlds/transition-table.ts'
import { codeSpansIn, rowsIn, sectionOf, wholePage } from './markdown.ts'

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8')
const contract = wholePage('contract.md')
const model = read('deal-model.md')

/** The rules of the specification: rule, route, test. */
const specified = rowsIn(read('specification.md')).filter(([rule]) => rule !== 'rule')

const problems = explainedProblems(400)
const serversOf = ({ servers }: (typeof problems)[number]): string => (servers.length > 1 ? 'both' : servers.join())

/** `GET, POST /path?query` as the routes that it names. */
const routesNamed = (span: string): string[] => {
  const [, methods = '', path = ''] = /^((?:GET|POST|PUT|PATCH|DELETE)(?:, (?:POST|PUT))*) (\/[^\s?]*)/.exec(span) ?? []
  return path === '' ? [] : methods.split(', ').map((method) => `${method} ${path}`)
}

/** One spelling for all names of parameters and for a slash at the end. */
const plain = (route: string): string => route.replace(/\{[^}]+\}/g, '{}').replace(/(?<=[^ ])\/$/, '')

/** True when a cell of the page says what the cell of the tests does, of a deal in this state. */
function says(text: string, cell: Cell, state: DealState): boolean {
  if (isProblemCode(cell)) return codeSpansIn(text).includes(cell)
  if (cell === 'unchanged') return text.startsWith('=')
  if (state === 'DELETED') return text === 'the state before'
  return text.startsWith(cell) || (cell === state && text === '=')
}

/** The routes that a route with `{verb}`, `{state}` or `{command_name}` stands for. */
const expanded = (route: string): string[] =>
  /\{(?:verb|state|command_name)\}/.test(route)
    ? commands.map(({ name, verb, stateName }) =>
        route.replace('{verb}', verb).replace('{state}', stateName).replace('{command_name}', name),
      )
    : [route]

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)].sort()

describeEmbedded('the routes', (openBackend) => {
  let described: string[]

  beforeAll(async () => {
    const stack = await openStack(openBackend)
    const documents = await Promise.all(
      [stack.auth, stack.deal].map(async (server) => JSON.parse((await server.send('/openapi.json')).text) as Document),
    ).finally(() => stack.close())
    described = documents.flatMap(describedIn).map(({ method, path }) => plain(`${method} ${path}`))
  })

  it('of docs/contract.md are those of the OpenAPI documents', () => {
    const named = codeSpansIn(contract).flatMap(routesNamed).flatMap(expanded).map(plain)
    expect(distinct(named)).toEqual(distinct(described))
  })

  it('of docs/specification.md are in the OpenAPI documents, one or more in each row', () => {
    const routes = specified.map(([, cell = '']) => (cell === 'any' ? [] : codeSpansIn(cell).map(plain)))
    const unknown = routes.flat().filter((route) => !described.includes(route))
    expect(unknown).toEqual([])
    expect(specified.filter(([, cell], row) => cell !== 'any' && routes[row]?.length === 0)).toEqual([])
  })
})

describe('docs/specification.md', () => {
  it('names test files that exist, one or more in each row', () => {
    const tests = specified.map(([, , cell = '']) => codeSpansIn(cell))
    expect(tests.length).toBeGreaterThan(60)
    expect(tests.flat().filter((file) => !existsSync(join(import.meta.dirname, '../..', file)))).toEqual([])
    expect(specified.filter((_row, index) => tests[index]?.length === 0)).toEqual([])
  })
})

describe('docs/contract.md', () => {
  it('lists every problem code with its status and its servers', () => {
    const listed = rowsIn(sectionOf(contract, 'Codes')).flatMap(([status, servers, codes = '']) =>
      codeSpansIn(codes).map((code) => `${status} ${servers} ${code}`),
    )
    expect(listed.sort()).toEqual(problems.map((one) => `${one.status} ${serversOf(one)} ${one.code}`).sort())
  })

  it.each([
    ['contract.md', contract],
    ['deal-model.md', model],
  ])('%s names codes with their statuses', (_page, text) => {
    const named = [...text.matchAll(/\b([45]\d\d)\s+`([a-z][a-z_-]+)`/g)].map(([, status, code]) => `${status} ${code}`)
    expect(named.length).toBeGreaterThan(5)
    const known = new Set(problems.map(({ status, code }) => `${status} ${code}`))
    expect(named.filter((one) => !known.has(one))).toEqual([])
  })

  it('names every setting, and no other', () => {
    const settings = Object.keys({ ...authSettings, ...dealSettings, ...operatorSettings })
    const isName = (span: string): boolean => /^[A-Z]+(_[A-Z]+)+$/.test(span) && !span.startsWith('TEST_')
    const spans = codeSpansIn(contract)
    const all: string[] = [...settings, ...callerVariables]
    expect(all.filter((name) => !spans.includes(name))).toEqual([])
    expect(distinct(spans.filter(isName)).filter((name) => !all.includes(name))).toEqual([])
    const listed = rowsIn(read('settings.md')).map(([name = '']) => name.replaceAll('`', ''))
    expect(settings.filter((name) => !listed.includes(name))).toEqual([])
  })

  it('says which rights each role has', () => {
    const rows = rowsIn(sectionOf(contract, 'Roles and rights')).slice(1)
    let held: string[] = []
    for (const [role = '', rights = ''] of rows) {
      const [name = ''] = codeSpansIn(role)
      const named = codeSpansIn(rights)
      if (name === 'seller') expect(named).toEqual(rolesMade().get(name))
      else held = [...held, ...named]
      if (name !== 'admin' && name !== 'seller')
        expect({ role, rights: held }).toEqual({ role, rights: rolesMade().get(name) })
    }
    expect(rows.flatMap(([role = '']) => codeSpansIn(role))).toEqual([...rolesMade().keys()])
    expect(held.toSorted()).toEqual(builtInRights.toSorted())
  })

  it('has a row for each scheme', () => {
    const rows = rowsIn(sectionOf(contract, 'Schemes')).slice(1)
    expect(rows.flatMap(([scheme = '']) => codeSpansIn(scheme))).toEqual(schemeNames)
  })
})

describe('docs/deal-model.md', () => {
  it('has a row for each command: its right, verb and state', () => {
    const rows = rowsIn(sectionOf(model, 'Use cases')).filter((row) => row.length === 5)
    const listed = rows.slice(1).map(([name, , right = '', verb = '', state = '']) => ({
      name,
      right: codeSpansIn(right)[0],
      verb: codeSpansIn(verb)[0],
      stateName: codeSpansIn(state)[0],
    }))
    expect(listed).toEqual(commands.map(({ name, right, verb, stateName }) => ({ name, right, verb, stateName })))
  })

  it('has a row for each field, and for what the representation adds', () => {
    const rows = rowsIn(sectionOf(model, 'Fields')).slice(1)
    const named = rows.flatMap(([fields = '']) => codeSpansIn(fields))
    expect(named.sort()).toEqual([...shownFields, 'priceText', 'tasks', 'links'].sort())
  })

  it('names the parameters of each command', () => {
    for (const [name = '', parameters = ''] of rowsIn(sectionOf(model, 'Use cases')).filter(
      (row) => row.length === 5,
    )) {
      const params = commands.find((command) => command.name === name)?.params
      if (params === undefined) continue
      const named = codeSpansIn(parameters.replaceAll(/\([^)]*\)/g, '')).map((span) => span.replace('?', ''))
      const shape = 'shape' in params ? Object.keys(params.shape as object) : []
      expect({ name, named }).toEqual({ name, named: shape })
    }
  })

  it('has the transition table that the tests hold the code to', () => {
    const [, ...rows] = rowsIn(sectionOf(model, 'Transitions'))
    const taskCommands = ['AddTask', 'AssignTask', 'UnassignTask', 'CompleteTask']
    const commandsOf = (cell: string): string[] =>
      cell === 'task commands' ? taskCommands : cell.replace(', same id', '').split(', ')
    const listed = rows.flatMap(([names = '', ...cells]) => commandsOf(names).map((name) => ({ name, cells })))
    expect(listed.map(({ name }) => name).sort()).toEqual(transitionTable.map(({ useCase }) => useCase).sort())
    for (const { useCase, cells } of transitionTable) {
      const shown = listed.find(({ name }) => name === useCase)?.cells ?? []
      const wrong = dealStates.slice(1).filter((state, index) => !says(shown[index] ?? '', cells[state], state))
      expect({ useCase, wrong }).toEqual({ useCase, wrong: [] })
    }
  })

  it('lists every type of event', () => {
    const rows = rowsIn(sectionOf(model, 'Events')).slice(1)
    expect(rows.flatMap(([type = '']) => codeSpansIn(type)).sort()).toEqual(dealEventTypes.toSorted())
  })
})

/** The roles that migrations make, with their rights; none for `admin`, which has all. */
function rolesMade(): Map<string, string[]> {
  const folder = join(import.meta.dirname, '../../auth-server/store/migrations')
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  const migrations = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
  const rows = migrations.matchAll(/\('([a-z]+)', '[^']+', ARRAY\[([^\]]*)\]/g)
  const made = new Map<string, string[]>(
    [...rows].map(([, name = '', rights = '']) => [name, rights.match(/[a-z-]+(\.[a-z-]+)+(:own)?/g) ?? []]),
  )
  for (const [, right = '', name = ''] of migrations.matchAll(
    /array_append\("rights", '([^']+)'\)\s+WHERE "name" = '([a-z]+)'/g,
  ))
    made.set(name, [...(made.get(name) ?? []), right])
  return made
}
