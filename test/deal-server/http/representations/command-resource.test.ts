import { expect, it } from 'vitest'
import { type CommandView, representExpired } from '../../../../deal-server/http/representations/command-resource.ts'
import { commands } from '../../../../deal-server/use-cases/index.ts'
import { amount } from '../../../../deal-server/use-cases/parameters.ts'
import { attributesSchema } from '../../../../deal-server/use-cases/update-deal/attributes.ts'
import type { JsonSchema } from '../../../../shared/platform/http/operation.ts'
import { jsonSchemaOf } from '../../../../shared/platform/openapi/json-schema.ts'

const { description } = jsonSchemaOf(amount)

/** Of a schema or, where null is allowed too, of one of its branches. */
const branchesOf = (schema: JsonSchema): JsonSchema[] => [schema, ...((schema.anyOf ?? []) as JsonSchema[])]

/** Parameters with a text for each amount, as they are kept, and the same with numbers, as they are read. */
function amountsOf(schema: JsonSchema, read: boolean): Record<string, unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
  return Object.fromEntries(
    properties.flatMap(([name, property]): [string, unknown][] => {
      const branches = branchesOf(property)
      if (branches.some((branch) => branch.description === description)) return [[name, read ? 12.5 : '12.5']]
      const nested = branches.find((branch) => branch.properties !== undefined)
      return nested ? [[name, amountsOf(nested, read)]] : []
    }),
  )
}

const view = (params: CommandView['params']): CommandView => ({
  commandId: 'c',
  dealId: 'd',
  useCase: 'any',
  requestedBy: 'alice',
  requestedAt: '2026-01-01T00:00:00.000Z',
  params,
})

const kinds = [
  ...commands.map(({ name, params }) => [name, jsonSchemaOf(params)] as const),
  ['an attribute update', jsonSchemaOf(attributesSchema)] as const,
]

it.each(kinds)('every amount of %s is read as a number', (_, schema) => {
  expect(representExpired(view(amountsOf(schema, false))).params).toEqual(amountsOf(schema, true))
})

it('finds all amounts', () => {
  const named = kinds.filter(([, schema]) => Object.keys(amountsOf(schema, true)).length > 0).map(([name]) => name)
  expect(named).toEqual(expect.arrayContaining(['ChangePrice', 'CancelDeal', 'an attribute update']))
  expect(amountsOf(jsonSchemaOf(attributesSchema), true)).toMatchObject({
    price: 12.5,
    completion: { finalPrice: 12.5 },
  })
})
