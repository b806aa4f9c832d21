import * as z from 'zod'
import type { JsonSchema } from '../http/operation.ts'

const options = {
  target: 'draft-2020-12',
  io: 'input',
  unrepresentable: 'any',
  override: ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: Record<string, unknown> }) => {
    // Zod takes them for results of a transformation and leaves them out. Here they describe the input.
    const { default: fallback, examples } = z.globalRegistry.get(zodSchema) ?? {}
    if (fallback !== undefined) jsonSchema.default = fallback
    if (examples !== undefined) jsonSchema.examples = examples
  },
} as const

/** The reference of a component schema. */
const componentUri = (name: string): string => `#/components/schemas/${name}`

/** A reference to a component schema. */
export const ref = (name: string): JsonSchema => ({ $ref: componentUri(name) })

/** The JSON Schema of the input of `schema`. */
export const jsonSchemaOf = (schema: z.ZodType): JsonSchema => inDocument(z.toJSONSchema(schema, options))

/** Component schemas by name. A schema that contains another one refers to it. */
export function componentSchemas(schemas: Readonly<Record<string, z.ZodType>>): Readonly<Record<string, JsonSchema>> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id })
  const { schemas: generated } = z.toJSONSchema(registry, { ...options, uri: componentUri })
  return Object.fromEntries(Object.entries(generated).map(([name, schema]) => [name, inDocument(schema)]))
}

/** Removes members that belong to a whole document, and `readOnly`, which only describes values in memory. */
function inDocument(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, $id: _uri, readOnly: _readOnly, ...rest } = schema
  return rest
}
