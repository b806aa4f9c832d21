/** The signature base of HTTP Message Signatures (RFC 9421 §2.5): the text that is signed. */
import { type InnerList, type Item, type Parameters, serializeInnerList, serializeItem } from 'structured-headers'
import type { HttpRequest } from '../../../platform/http/request.ts'
import { invalidSignature } from './request-signature.ts'

/** The components that a signature covers, in its order. */
export interface CoveredComponents {
  readonly list: InnerList
  readonly components: readonly Component[]
  /** The names of the components without parameters. */
  readonly names: ReadonlySet<string>
  /** The parameters of the signature. */
  readonly parameters: Parameters
}

interface Component {
  readonly name: string
  /** The name of the query parameter, for `@query-param`. */
  readonly queryName: string | undefined
  /** The identifier in the signature base. */
  readonly identifier: string
}

/**
 * The largest number of components; no client needs more. Some components are searched in the whole query or in all
 * header fields.
 */
const maxComponents = 32

/**
 * Reads the covered components. @throws ProblemError `invalid-signature` for an unknown or repeated one, and for too
 * many
 */
export function readCovered(input: Item | InnerList | undefined): CoveredComponents {
  const [items, parameters] = input ?? []
  if (!Array.isArray(items) || !parameters) throw invalidSignature('Signature-Input must hold a list of components')
  if (items.length > maxComponents) throw invalidSignature(`it covers more than ${maxComponents} components`)
  const components = items.map(componentOf)
  const identifiers = new Set(components.map(({ identifier }) => identifier))
  if (identifiers.size < components.length) throw invalidSignature('a component is covered twice')
  const names = new Set(components.filter(({ queryName }) => queryName === undefined).map(({ name }) => name))
  return { list: [items, parameters], components, names, parameters }
}

/** Field names are in lower case (RFC 9421 §2.1). */
const componentForm = /^(@[a-z-]+|[a-z0-9!#$%&'*+.^_`|~-]+)$/

function componentOf([name, parameters]: Item): Component {
  if (typeof name !== 'string' || !componentForm.test(name))
    throw invalidSignature('a component has not the right form')
  if (name.startsWith('@') && !derived.has(name) && name !== '@query-param') {
    throw invalidSignature('a derived component is not supported')
  }
  const queryName = name === '@query-param' ? parameters.get('name') : undefined
  if (name === '@query-param' && typeof queryName !== 'string') throw invalidSignature('@query-param needs a name')
  if (parameters.size !== (name === '@query-param' ? 1 : 0)) {
    throw invalidSignature('a component has a parameter that is not supported')
  }
  return {
    name,
    queryName: typeof queryName === 'string' ? queryName : undefined,
    identifier: serializeItem([name, parameters]),
  }
}

type Derive = (request: HttpRequest, publicOrigin: string) => string

const targetOf = ({ path, rawQuery }: HttpRequest): string => (rawQuery === '' ? path : `${path}?${rawQuery}`)

/** The derived components (RFC 9421 §2.2). They use the public origin, so that changes by a proxy do not matter. */
const derived: ReadonlyMap<string, Derive> = new Map<string, Derive>([
  ['@method', (request) => request.method],
  ['@authority', (_, publicOrigin) => new URL(publicOrigin).host],
  ['@scheme', (_, publicOrigin) => new URL(publicOrigin).protocol.slice(0, -1)],
  ['@target-uri', (request, publicOrigin) => `${publicOrigin}${targetOf(request)}`],
  ['@request-target', targetOf],
  ['@path', (request) => request.path],
  ['@query', (request) => `?${request.rawQuery}`],
])

/** The signature base. @throws ProblemError `invalid-signature` for a component that the request does not have */
export function signatureBase(
  request: HttpRequest,
  { components, list }: CoveredComponents,
  publicOrigin: string,
): string {
  const lines = components.map(
    ({ identifier, ...component }) => `${identifier}: ${componentValue(request, component, publicOrigin)}\n`,
  )
  return `${lines.join('')}"@signature-params": ${serializeInnerList(list)}`
}

function componentValue(
  request: HttpRequest,
  { name, queryName }: Omit<Component, 'identifier'>,
  publicOrigin: string,
): string {
  if (queryName !== undefined) return queryParameterOf(request, queryName)
  const derive = derived.get(name)
  if (derive) return derive(request, publicOrigin)
  const lines = request.headerLines(name)
  if (lines.length === 0) throw invalidSignature('it covers a header field that the request has not')
  return lines.map((line) => line.trim()).join(', ')
}

/**
 * The value of a query parameter (RFC 9421 §2.2.8). The component names it in its encoded form. A parameter that is
 * present twice cannot be covered.
 */
function queryParameterOf(request: HttpRequest, encodedName: string): string {
  const name = formDecode(encodedName)
  const values = name === undefined ? [] : request.query.getAll(name)
  const [value] = values
  if (value === undefined || values.length > 1) throw invalidSignature('it covers a parameter that is not there once')
  return formEncode(value)
}

/** The encoding of forms (URL Standard, application/x-www-form-urlencoded), but with a space as `%20`. */
const formEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/** The decoded text; undefined when `formEncode` does not give this encoding for any text. */
function formDecode(encoded: string): string | undefined {
  try {
    const text = decodeURIComponent(encoded)
    return formEncode(text) === encoded ? text : undefined
  } catch {
    return undefined
  }
}
