import { z } from 'zod'
import type { JsonSchema } from '../http/operation.ts'

const options = {
  target: 'draft-2020-12',
  io: 'input',
  unrepresentable: 'any',
  override: ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: Record<string, unknown> }) => {
    // Zod takes them for what a transformation gives, and leaves them out; here they are of what is sent.
    const { default: fallback, examples } = z.globalRegistry.get(zodSchema) ?? {}
    if (fallback !== undefined) jsonSchema.default = fallback
    if (examples !== undefined) jsonSchema.examples = examples
  },
} as const

/** Where component schemas stand in a document. */
const componentUri = (name: string): string => `#/components/schemas/${name}`

/** A reference to a component schema. */
export const ref = (name: string): JsonSchema => ({ $ref: componentUri(name) })

/** The schema of what is sent. */
export const jsonSchemaOf = (schema: z.ZodType): JsonSchema => inDocument(z.toJSONSchema(schema, options))

/** Component schemas by name; where one holds another, it refers to it. */
export function componentSchemas(schemas: Readonly<Record<string, z.ZodType>>): Readonly<Record<string, JsonSchema>> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id })
  const { schemas: generated } = z.toJSONSchema(registry, { ...options, uri: componentUri })
  return Object.fromEntries(Object.entries(generated).map(([name, schema]) => [name, inDocument(schema)]))
}

/** Without what is true of the whole document; nor does a value that is not changed in memory say anything to clients. */
function inDocument(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, $id: _uri, readOnly: _readOnly, ...rest } = schema
  return rest
}
