/** An OpenAPI document as tests use it: whether it is one, what it describes, and whether answers are as it says. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect } from 'vitest'
import type { Reply } from './http-client.ts'

type Json = Record<string, unknown>

interface DescribedResponse extends Json {
  readonly headers?: Record<string, Json>
  readonly content?: Record<string, { readonly schema: Json }>
}

interface DescribedOperation extends Json {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Json; readonly example?: unknown }> }
  readonly responses: Record<string, DescribedResponse>
}

export interface Document extends Json {
  readonly paths: Record<string, Record<string, DescribedOperation>>
  readonly components: Record<string, Record<string, Json>>
}

/** A method and a path that the document describes. */
export interface Described {
  readonly method: string
  readonly path: string
  readonly operation: DescribedOperation
}

/** Everything that the document describes. */
export const describedIn = ({ paths }: Document): Described[] =>
  Object.entries(paths).flatMap(([path, ofPath]) =>
    Object.entries(ofPath).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )

/** Expects a valid OpenAPI 3.1 document without loose references. */
export async function expectValidDocument(document: Document): Promise<void> {
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  expect(errors).toBeUndefined()
  expect(valid).toBe(true)
  expect(document.openapi).toMatch(/^3\.1\./)
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, pointer = '']) => pointer)
  expect(references.filter((pointer) => lookUp(document, pointer) === undefined)).toEqual([])
}

function lookUp(document: Json, pointer: string): unknown {
  let value: unknown = document
  for (const part of pointer.split('/')) value = (value as Json | undefined)?.[part]
  return value
}

/** A path of the document as a pattern for paths of requests, with and without a trailing slash. */
const patternOf = (path: string): RegExp => {
  const text = path.replace(/\/$/, '').replaceAll('.', '\\.')
  return new RegExp(`^${text.replace(/\{[^}]+\}/g, '[^/]+')}/?$`)
}

/** The description of a request; a path without parameters is meant before one with. */
export function findDescribed(document: Document, method: string, path: string): Described {
  const found = describedIn(document)
    .filter((described) => described.method === method && patternOf(described.path).test(path))
    .sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0]
  if (!found) throw new Error(`${method} ${path} is not in the document`)
  return found
}

/** Checks bodies and answers against a document. */
export interface Checker {
  /** Expects the answer to be one that is described for this method and path, to the last member. */
  expectDescribed(method: string, path: string, reply: Reply): void
  /** True when the document allows this body. */
  acceptsBody(method: string, path: string, body: unknown): boolean
}

/** Objects of the answers must have no member that is not described; problem documents may. */
function closed(schema: unknown, isRoot = true): unknown {
  if (Array.isArray(schema)) return schema.map((part) => closed(part, false))
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.entries(schema).map(([name, value]) => [name, closed(value, false)])
  const result: Json = Object.fromEntries(members)
  const isOpen = result.type === 'object' && result.properties !== undefined && !('additionalProperties' in result)
  return isOpen && (isRoot || !('anyOf' in result)) ? { ...result, additionalProperties: false } : result
}

/** Compiles each schema once, and the components with the first that refers to them. */
function createCompiler(schemas: Json): (schema: Json) => ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema({ $id: 'http://document/', components: { schemas } })
  const compiled = new Map<string, ValidateFunction>()
  return (schema) => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"http://document/#/components/')
    const known = compiled.get(text) ?? ajv.compile(JSON.parse(text))
    compiled.set(text, known)
    return known
  }
}

/** A checker for `document`. */
export function createChecker(document: Document): Checker {
  const schemas = document.components.schemas ?? {}
  const responseSchemas = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      /^Problem$|Parameters$/.test(name) ? schema : closed(schema),
    ]),
  )
  const compileAnswer = createCompiler(responseSchemas)
  const compileBody = createCompiler(schemas)
  const answerOf = (response: DescribedResponse): DescribedResponse => {
    const reference = response.$ref
    if (typeof reference !== 'string') return response
    return lookUp(document, reference.slice(2)) as DescribedResponse
  }
  return {
    expectDescribed: (method, path, reply) => {
      const { operation } = findDescribed(document, method, path)
      const at = `${method} ${path} ${reply.status}`
      const described = operation.responses[reply.status] ?? operation.responses.default
      expect(described, `${at}: ${reply.text}`).toBeDefined()
      const { content, headers = {} } = answerOf(described ?? {})
      const mediaType = reply.headers.get('content-type') ?? ''
      if (reply.text !== '') {
        expect(Object.keys(content ?? {}), at).toContain(mediaType)
        if (mediaType.endsWith('json')) {
          const validate = compileAnswer(content?.[mediaType]?.schema ?? {})
          validate(JSON.parse(reply.text))
          expect(validate.errors ?? [], `${at}: ${reply.text}`).toEqual([])
        }
      }
      expect(undescribedHeaders(reply, headers), at).toEqual([])
    },
    acceptsBody: (method, path, body) => {
      const { operation } = findDescribed(document, method, path)
      const [{ schema = {} } = {}] = Object.values(operation.requestBody?.content ?? {})
      return compileBody(schema)(body)
    },
  }
}

const ownHeaders =
  /^(set-cookie$|deal-|idempotent-|etag$|location$|link$|preference-applied$|www-authenticate$|retry-after$)/

const undescribedHeaders = ({ headers }: Reply, described: Json): string[] => {
  const known = new Set(Object.keys(described).map((name) => name.toLowerCase()))
  return [...headers.keys()].filter((name) => ownHeaders.test(name) && !known.has(name))
}

/** The routes of an app, but pages for people, and what answers other methods and unknown paths. */
export const routesOf = (app: { readonly routes: readonly { method: string; path: string }[] }) => [
  ...new Set(
    app.routes
      .filter(({ method, path }) => method !== 'ALL' && !isPage.test(path))
      .map(({ method, path }) => `${method} ${path}`),
  ),
]

/** Pages for people, which the suites below `test/console` are about. */
const isPage = /^\/(?:console|account)(?:\/|$)/

/** A path of the document with something in place of each parameter. */
export const examplePath = (path: string): string =>
  path
    .replaceAll('{id}', '0192f0c0-0000-7000-8000-000000000000')
    .replaceAll('{selection}', 'open')
    .replaceAll('{code}', 'not-found')
    .replaceAll('{file}', 'pages.css')
    .replace(/\{[^}]+\}/g, 'some')
