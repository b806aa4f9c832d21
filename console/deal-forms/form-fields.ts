/**
 * The fields of a form, from the JSON Schema of a command's parameters, and the way back from a form to parameters. So
 * every use case has a form, and a new one needs no change here.
 */

import type { Command } from '../../deal-server/use-cases/define-use-case.ts'
import { parseJson } from '../../shared/platform/json.ts'
import { jsonSchemaOf } from '../../shared/platform/openapi/json-schema.ts'
import { EnteredParameters } from '../frame/deal-api.ts'

/** The kind of a field, which says how it is entered and decoded. */
export type FieldKind =
  | 'text'
  | 'multiline'
  | 'amount'
  | 'integer'
  | 'number'
  | 'date'
  | 'boolean'
  | 'choice'
  | 'list'
  | 'json'

/** A field of a form, for one parameter. */
export interface FormField {
  /** The name of the parameter. */
  readonly name: string
  readonly kind: FieldKind
  readonly isRequired: boolean
  readonly isNullable: boolean
  /** The description of the schema. */
  readonly description: string | undefined
  /** In characters. */
  readonly maxLength: number | undefined
  /** For `choice`. */
  readonly choices: readonly string[]
  /** For `list`: its items. */
  readonly item: FormField | undefined
}

/** The members of a JSON Schema that are read here. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly description?: string
  readonly maxLength?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

/** Longer texts get room for several lines. */
const longestLine = 200

/** The fields by parameters: to make a JSON Schema takes longer than all the rest of a form. */
const known = new WeakMap<Command['params'], readonly FormField[]>()

/** The fields of a command, in the order of its parameters. */
export function fieldsOf({ params }: Command): readonly FormField[] {
  const fields = known.get(params) ?? readFields(params)
  known.set(params, fields)
  return fields
}

function readFields(params: Command['params']): readonly FormField[] {
  const { properties = {}, required = [] } = jsonSchemaOf(params) as Schema
  return Object.entries(properties).map(([name, schema]) => fieldOf(name, schema, required.includes(name)))
}

function fieldOf(name: string, given: Schema, isRequired: boolean): FormField {
  const { schema, isNullable } = withoutNull(given)
  const kind = kindOf(schema)
  return {
    name,
    kind,
    isRequired,
    isNullable,
    maxLength: schema.maxLength,
    description: given.description ?? schema.description,
    choices: choicesOf(schema) ?? [],
    item: kind === 'list' && schema.items ? fieldOf(name, schema.items, true) : undefined,
  }
}

/** Null is no value of its own in a form: it is the empty field. */
function withoutNull(schema: Schema): { readonly schema: Schema; readonly isNullable: boolean } {
  const { anyOf, type } = schema
  if (Array.isArray(type) && type.includes('null')) {
    const others = type.filter((one) => one !== 'null')
    return { schema: { ...schema, type: others.length === 1 ? others[0] : others }, isNullable: true }
  }
  const others = anyOf?.filter((one) => one.type !== 'null') ?? []
  if (!anyOf || others.length === anyOf.length) return { schema, isNullable: false }
  const [only] = others
  return { schema: others.length === 1 && only ? only : { ...schema, anyOf: others }, isNullable: true }
}

/** The values of an enumeration of texts; undefined for other schemas. */
function choicesOf({ enum: values, anyOf, const: only }: Schema): readonly string[] | undefined {
  const found = values ?? (only === undefined ? anyOf?.map((one) => one.const) : [only])
  return found?.length && found.every((value) => typeof value === 'string') ? found : undefined
}

function kindOf(schema: Schema): FieldKind {
  const { type, format, maxLength = 0, items } = schema
  if (choicesOf(schema)) return 'choice'
  if (Array.isArray(type)) return type.includes('string') && type.includes('number') ? 'amount' : 'json'
  if (type === 'boolean' || type === 'integer' || type === 'number') return type
  if (type === 'string') return format === 'date' ? 'date' : maxLength > longestLine ? 'multiline' : 'text'
  if (type !== 'array' || !items) return 'json'
  return ['json', 'list', 'multiline', 'boolean'].includes(kindOf(withoutNull(items).schema)) ? 'json' : 'list'
}

/**
 * The parameters in a form: optional ones that are empty are left out, required ones that may be null become null.
 * `chosen` are parameters that the reader does not enter.
 */
export function decodeForm(
  fields: readonly FormField[],
  form: ReadonlyMap<string, string>,
  chosen: Readonly<Record<string, string>> = {},
): EnteredParameters {
  const given = fields.map((field): [string, unknown] => [field.name, decodeField(field, form.get(field.name) ?? '')])
  return new EnteredParameters({ ...Object.fromEntries(given.filter(([, value]) => value !== undefined)), ...chosen })
}

function decodeField(field: FormField, sent: string): unknown {
  // Browsers send every line break as CR LF (WHATWG HTML §4.10.22.4).
  const text = sent.replaceAll('\r\n', '\n')
  if (text === '') return emptyValue(field)
  return decodeText(field, text)
}

/** What an empty field stands for. A required text stays empty: so the API says what is wrong with it. */
function emptyValue({ kind, isRequired, isNullable }: FormField): unknown {
  if (!isRequired) return undefined
  if (isNullable) return null
  if (kind === 'boolean') return false
  if (kind === 'list') return []
  return kind === 'integer' || kind === 'number' || kind === 'json' ? undefined : ''
}

/** Text that is no value of the kind stays text: the API refuses it at its place. */
function decodeText({ kind, item }: FormField, text: string): unknown {
  switch (kind) {
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'integer':
    case 'number':
      return /^[-+]?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text
    // As text, which loses no digit.
    case 'amount':
      return text.trim()
    case 'list':
      return text.split('\n').flatMap((line) => (item && line.trim() !== '' ? [decodeText(item, line.trim())] : []))
    case 'json':
      return parsedOrText(text)
    default:
      return text
  }
}

function parsedOrText(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
