import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type * as z from 'zod'
import { createDealApp } from '../../../deal-server/http/app.ts'
import { proposalEndpoints } from '../../../deal-server/http/decide-proposals.ts'
import { routeSchemas } from '../../../deal-server/http/styles/route-schemas.ts'
import { webhookEndpoints } from '../../../deal-server/http/webhooks/endpoints.ts'
import { commands } from '../../../deal-server/use-cases/index.ts'
import { jsonSchemaOf } from '../../../shared/platform/openapi/json-schema.ts'
import { schemeNames } from '../../../shared/protocol/authentication/scheme.ts'
import type { ConsoleServer } from '../../../shared/server/pages/console.ts'
import {
  type Checker,
  createChecker,
  type Document,
  describedIn,
  examplePath,
  expectValidDocument,
  findDescribed,
  routesOf,
} from '../../support/clients/openapi.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let document: Document
let checker: Checker

/** The document's paths that a route stands for; all but the generic routes stand for one. */
const expansions: Readonly<Record<string, readonly string[]>> = {
  'POST /command/:commandName': commands.map(({ name }) => `POST /command/${name}/`),
  'GET /query/:dtoName/:parameter': [
    'GET /query/Deal/{id}',
    'GET /query/Deals/{selection}',
    'GET /query/AssignedTask/{username}',
    'GET /query/DealHistory/{id}',
  ],
}

interface RouteSchemas {
  readonly query?: z.ZodObject
  readonly reply?: z.ZodType
}

/** Other schemas are in the definitions of their endpoints. */
const endpoints = [...webhookEndpoints({} as never, {} as never), ...proposalEndpoints({} as never)]
const schemasOfEndpoints = endpoints.map(({ method, path, query, response }) => [
  `${method} ${path}`,
  { query, reply: response?.schema },
])

const typedRoutes: Readonly<Record<string, RouteSchemas>> = {
  ...routeSchemas,
  ...Object.fromEntries(schemasOfEndpoints),
}

const toJson = (schema: z.ZodType | undefined) => schema && jsonSchemaOf(schema)

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

const componentOf = ({ components }: Document, ref: string): unknown => {
  const [kind = '', name = ''] = ref.split('/').slice(-2)
  return components[kind]?.[name]
}

/** Members, types and values of a schema, without words. */
function shapeIn(document: Document, schema: unknown): unknown {
  const { $ref, type, enum: values, anyOf, items, properties, required = [] } = Object(schema) as Schema
  if ($ref !== undefined) return shapeIn(document, componentOf(document, $ref))
  if (Array.isArray(type)) return type.map((one) => shapeIn(document, { type: one }))
  if (anyOf) return anyOf.map((one) => shapeIn(document, one))
  const members = Object.entries(properties ?? {}).map(([name, member]) => [
    required.includes(name) ? name : `${name}?`,
    shapeIn(document, member),
  ])
  return { type, values, items: items && shapeIn(document, items), members: Object.fromEntries(members) }
}

/** The names of the query parameters, in alphabetical order. */
function namesOfQuery(document: Document, parameters: unknown = []): string[] {
  const all = (parameters as Schema[]).map((one) => (one.$ref === undefined ? one : componentOf(document, one.$ref)))
  const described = all as { readonly in: string; readonly name: string }[]
  return described.flatMap((one) => (one.in === 'query' ? [one.name] : [])).sort()
}

/** What the composition root adds to the app: routes that need no caller. */
const openRoutes = [
  'GET /.well-known/oauth-protected-resource',
  'GET /',
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /problems',
  'GET /problems/{code}',
  'GET /docs',
  'GET /docs/assets/{file}',
  'GET /rest/docs',
  'GET /rest/docs/assets/{file}',
]

const servedRoutes = (): string[] => {
  const nothing = {} as never
  const settings = {
    publicOrigin: 'http://deals.test',
    publicOrigins: { auth: 'http://auth.test', deal: 'http://deals.test' },
    expiredTokenStatus: 400,
    downloads: { maxOfUser: 1, maxInAll: 1 },
    requirePrecondition: false,
    schemes: schemeNames,
    transport: nothing,
  }
  const services = {
    ...fakeSystems(),
    authenticate: nothing,
    findCredentials: nothing,
    observe: nothing,
    cors: nothing,
    refuseForeignPage: nothing,
    recheck: nothing,
    refuseCrossSite: nothing,
    executeCommand: nothing,
    rejectProposal: nothing,
    batches: { maxOfUser: 1, maxInAll: 1 },
    reader: nothing,
    events: nothing,
    webhooks: nothing,
    requireRecentProof: nothing,
    noteWebhookChange: nothing,
    findUserId: nothing,
    openRoutes: [],
    cursors: nothing,
    console: ({ routes }: ConsoleServer) => routes,
  }
  return routesOf(createDealApp(settings, services))
}

describeEmbedded('the OpenAPI document of the deal server', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    document = JSON.parse((await stack.deal.send('/openapi.json')).text)
    checker = createChecker(document)
  })
  afterAll(() => stack.close())

  it('is valid OpenAPI 3.1', () => expectValidDocument(document))

  it('is served as JSON in both places, without a caller', async () => {
    const replies = await Promise.all(['/openapi.json', '/rest/openapi.json'].map((path) => stack.deal.send(path)))
    expect(replies.map(({ status }) => status)).toEqual([200, 200])
    expect(replies.map(({ headers }) => headers.get('content-type'))).toEqual(['application/json', 'application/json'])
    expect(replies[0]?.text).toBe(replies[1]?.text)
    expect(document.servers).toEqual([{ url: 'http://deals.test' }])
  })

  it('describes every route, and nothing else', () => {
    const expected = servedRoutes().flatMap((route) => expansions[route] ?? [route.replace(/:([A-Za-z]+)/g, '{$1}')])
    expect(expected.length).toBeGreaterThan(80)
    const described = describedIn(document).map(({ method, path }) => `${method} ${path}`)
    expect(described.sort()).toEqual([...expected, ...openRoutes].sort())
  })

  it('describes only routes of the router', async () => {
    for (const { method, path, operation } of describedIn(document)) {
      const isOpen = [operation.security ?? path].flat().length === 0
      const { status } = await stack.deal.send(examplePath(path), { method })
      expect({ method, path, status }).toEqual({ method, path, status: isOpen ? 200 : 401 })
    }
  })

  it('has its tags in the order in which one wants them, and says where to begin', () => {
    const tags = (document.tags as { name: string }[]).map(({ name }) => name)
    const wanted = [...commands.map(({ name }) => name), 'reading', 'resource', 'action-sub-resource']
    expect(tags.slice(0, wanted.length)).toEqual(wanted)
    expect(tags.slice(-3)).toEqual(['webhooks', 'documentation', 'operation'])
    expect(document.info).toMatchObject({ description: expect.stringMatching(/^Begin with .*\*\*HoldDeal\*\*/) })
    const reads = describedIn(document).filter(({ operation: { tags: used } }) => used.includes('reading'))
    expect(reads.length).toBeGreaterThan(12)
    expect(reads.filter(({ method }) => method !== 'GET')).toEqual([])
  })

  it('has an id, a summary and a known tag for every operation', () => {
    const operations = describedIn(document).map(({ operation }) => operation)
    const tags = (document.tags as { name: string }[]).map(({ name }) => name)
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
    expect(operations.filter(({ summary }) => summary.length < 8)).toEqual([])
    expect(operations.filter(({ description }) => String(description ?? '').length < 20)).toEqual([])
    expect(operations.filter(({ operationId }) => !/^[a-z][A-Za-z]+$/.test(operationId))).toEqual([])
    expect(operations.filter(({ tags: used }) => used.some((tag) => !tags.includes(tag)))).toEqual([])
    expect(new Set(operations.flatMap(({ tags: used }) => used))).toEqual(new Set(tags))
  })

  it.each(Object.entries(typedRoutes))('has the schemas by which %s is typed', (name, schemas) => {
    const [method = '', route = ''] = name.split(' ')
    const path = route.replace(':dtoName/:parameter', 'AssignedTask/{username}').replace(/:([A-Za-z]+)/g, '{$1}')
    const { operation } = findDescribed(document, method, path)
    const success = operation.responses[200] ?? operation.responses[201]
    const shapeOf = (schema: unknown) => shapeIn(document, schema)
    expect(namesOfQuery(document, operation.parameters)).toEqual(Object.keys(schemas.query?.shape ?? {}).sort())
    expect(shapeOf(success?.content?.['application/json']?.schema)).toEqual(shapeOf(toJson(schemas.reply)))
  })

  it('distinguishes the two meanings of PUT of a deal', () => {
    const path = '/rest/v1/deals/{id}'
    const { operation } = findDescribed(document, 'PUT', path)
    expect(operation.requestBody?.content['application/json']?.schema).toEqual({
      oneOf: [{ $ref: '#/components/schemas/Update' }, { $ref: '#/components/schemas/WholeDeal' }],
    })
    const deal = { name: 'a', price: 1, completionDate: null, ownerId: 'alice', status: 'open', held: false }
    const accepted = (body: unknown) => checker.acceptsBody('PUT', path, body)
    expect(accepted({ action: 'HoldDeal', params: { reason: 'r' } })).toBe(true)
    expect(accepted({ action: 'UnholdDeal', params: {} })).toBe(true)
    expect(accepted(deal)).toBe(true)
    expect(accepted({ ...deal, price: '1.50', updatedAt: 'whatever' })).toBe(true)
    expect(accepted({ action: 'HoldDeal', params: {} })).toBe(false)
    expect(accepted({ action: 'NoDeal', params: {} })).toBe(false)
    expect(accepted({ ...deal, action: 'HoldDeal', params: { reason: 'r' } })).toBe(false)
    expect(accepted({ ...deal, price: undefined })).toBe(false)
    expect(accepted({ ...deal, surprise: 1 })).toBe(false)
  })

  it('accepts the bodies of each style', () => {
    const id = randomUUID()
    const action = { action: 'HoldDeal', params: { reason: 'r' } }
    const accepted = (method: string, path: string, body: unknown) => checker.acceptsBody(method, path, body)
    expect(accepted('PUT', `/rest/v1/deals/${id}/hold`, { reason: 'r' })).toBe(true)
    expect(accepted('POST', `/rest/v1/deals/${id}/hold`, { id, reason: 'r', reasonCode: null })).toBe(true)
    expect(accepted('PUT', `/rest/v1/deals/${id}/holded`, { reason: '' })).toBe(false)
    expect(accepted('PUT', '/commands/c1', { deal: id, ...action })).toBe(true)
    expect(accepted('PUT', '/commands/c1', action)).toBe(false)
    expect(accepted('PUT', '/commands/c1', { action: 'CreateDeal', params: { name: 'n', price: 1 } })).toBe(true)
    expect(accepted('PUT', `/rest/v1/deals/${id}/commands/c1`, action)).toBe(true)
    expect(accepted('POST', '/command/HoldDeal/', { id, reason: 'r' })).toBe(true)
    expect(accepted('POST', '/command/HoldDeal', { deal: id.toUpperCase(), reason: 'r' })).toBe(true)
    expect(accepted('POST', '/command/HoldDeal/', { reason: 'r' })).toBe(false)
    expect(accepted('POST', '/command/CreateDeal/', { name: 'n', price: '12.50', currency: 'EUR' })).toBe(true)
    expect(accepted('POST', '/rest/v1/deals', { name: 'n' })).toBe(false)
  })

  it('has an example for every body of a command that succeeds as it stands, apart from the ids', async () => {
    const token = (await stack.logIn('alice')).access
    const isOfCommand = ({ path }: { path: string }) => !/^\/(rest\/v1\/webhooks|mcp|proposals)/.test(path)
    const bodies = describedIn(document).filter((one) => one.operation.requestBody && isOfCommand(one))
    expect(bodies.length).toBeGreaterThan(60)
    for (const { method, path, operation } of bodies) {
      const deal = { id: randomUUID(), name: 'deal123', price: 1234 }
      const [{ schema = {}, example: shown } = {}] = Object.values(operation.requestBody?.content ?? {})
      const named = String(schema.$ref ?? '').replace('#/components/schemas/', '')
      const example = (document.components.schemas?.[named] as typeof schema | undefined) ?? schema
      const text = JSON.stringify(shown ?? (example.examples as unknown[])[0]).replaceAll(/0198c0de-[-0-9]+/g, deal.id)
      expect(checker.acceptsBody(method, path, JSON.parse(text)), `${method} ${path} ${text}`).toBe(true)
      expect((await stack.deal.send('/rest/v1/deals', { token, json: deal })).status).toBe(201)
      const target = `${path.replace('{id}', deal.id).replace('{commandId}', deal.id)}?validateOnly=true`
      const headers = { 'content-type': 'application/json' }
      const reply = await stack.deal.send(target, { method, token, headers, body: text })
      // There is no such task, and there is such a deal: all else would be the example's fault.
      const fine = /^2|^404 task-not-found|^409 deal-exists/
      expect(`${reply.status} ${reply.body.code ?? ''}`, `${method} ${path} ${text}`).toMatch(fine)
    }
  })
})
